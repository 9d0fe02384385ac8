// Answers on their way. Each has a key of its own, so that sending it again keeps it once; they go out in order,
// and one that nobody took is kept and tried again until somebody does.

import { send } from "./api.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const FINAL = new Set([400, 404, 409, 413, 422]); // the server understood, and will never take it

export class Outbox {
  constructor({ saved, refused, changed }) {
    this.tell = { saved, refused, changed };
    this.waiting = [];
    this.pause = FIRST_PAUSE;
    this.sending = false;
    addEventListener("online", () => this.flush());
    addEventListener("beforeunload", (event) => {
      if (this.waiting.length) event.preventDefault();
    });
  }

  put(path, body) {
    const letter = { path, body: { key: crypto.randomUUID(), ...body } };
    this.waiting.push(letter);
    this.tell.changed(this.waiting.length, null);
    this.flush();
    return letter.body.key;
  }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    clearTimeout(this.timer);
    let trouble = null;
    while (this.waiting.length && !trouble) {
      const letter = this.waiting[0];
      try {
        const { event } = await send(letter.path, letter.body);
        this.waiting.shift();
        this.pause = FIRST_PAUSE;
        this.tell.saved(letter.body, event);
      } catch (error) {
        if (FINAL.has(error.status)) {
          this.waiting.shift();
          this.tell.refused(letter.body, error);
        } else trouble = error;
      }
      this.tell.changed(this.waiting.length, trouble);
    }
    this.sending = false;
    if (trouble) {
      this.timer = setTimeout(() => this.flush(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    }
  }
}
