// Keyboard shortcuts. They are inactive in form fields and dialogs, and never override those of the browser.

import { anyOpen } from "./dialogs.js";

export const KEYS = {
  f: "false_alarm", a: "anomaly", u: "unsure", z: "undo", p: "preview", c: "calm",
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
    // A dialog that was just closed may keep the focus for one more frame.
    if (!action || (own && !own.closest("dialog"))) return;
    // A key that is held down repeats walking and zooming, but gives only one verdict.
    if (event.repeat && !["next", "previous", "left", "right", "closer", "wider"].includes(KEYS[key])) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-does]");
    if (button) actions[button.dataset.does]?.();
  });
}
