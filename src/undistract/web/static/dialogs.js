// Dialogs: the browser keeps the focus inside and gives it back; we say when one closes, and with what.

import { find } from "./dom.js";

const opened = (dialog) => dialog.matches("[open]");

export const anyOpen = () => Boolean(document.querySelector("dialog[open]"));

// Open one; resolves to true when it was accepted (a button with value "ok"), false when it was left.
export function ask(name) {
  const dialog = find(`${name}-dialog`);
  if (opened(dialog)) return Promise.resolve(false);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((answer) => dialog.addEventListener("close", () => answer(dialog.returnValue === "ok"), { once: true }));
}

for (const button of document.querySelectorAll("[data-closes]")) {
  button.addEventListener("click", () => button.closest("dialog").close(""));
}
