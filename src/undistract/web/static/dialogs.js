// Dialogs. The browser keeps the focus inside an open dialog and restores it afterwards.

import { find } from "./dom.js";

export const anyOpen = () => Boolean(document.querySelector("dialog[open]"));

// Open a dialog. Resolves to true if it was accepted (a button with value "ok"), else to false.
export function ask(name) {
  const dialog = find(`${name}-dialog`);
  if (dialog.matches("[open]")) return Promise.resolve(false);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok"), { once: true }));
}

for (const button of document.querySelectorAll("[data-closes]")) {
  button.addEventListener("click", () => button.closest("dialog").close(""));
}
