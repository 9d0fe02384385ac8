// Which key does what. Keys stay out of the way of fields, dialogs and the browser's own.

import { anyOpen } from "./dialogs.js";

export const KEYS = {
  f: "familiar", a: "anomaly", u: "unsure", z: "undo", p: "preview", c: "calm",
  n: "next", ArrowDown: "next", b: "previous", ArrowUp: "previous", " ": "play",
  ArrowLeft: "left", ArrowRight: "right", "+": "closer", "=": "closer", "-": "wider", 0: "whole",
  s: "summary", e: "export", "?": "help",
};

const OWN = { " ": "button, a, summary, video, input, select", default: "input, select, textarea, video" };

export function listen(actions) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || anyOpen()) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = actions[KEYS[key]];
    const own = event.target.closest?.(OWN[key] ?? OWN.default);
    // A dialog that was just closed may hold the focus for one frame more.
    if (!action || (own && !own.closest("dialog"))) return;
    // A key held down may walk and zoom, but it answers once.
    if (event.repeat && !["next", "previous", "left", "right", "closer", "wider"].includes(KEYS[key])) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-does]");
    if (button) actions[button.dataset.does]?.();
  });
}
