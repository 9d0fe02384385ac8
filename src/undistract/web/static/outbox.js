// Answers on their way. Each has a key of its own, so that sending it again keeps it once; they go out in order,
// and one that nobody took is kept and tried again until somebody does.

import { send } from "./api.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const FINAL = new Set([400, 404, 409, 413, 422]); // the server understood, and will never take it

// A UUID of random bits. `crypto.randomUUID` does the same, but is not there where the page came over plain HTTP from
// another machine.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

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
    const letter = { path, body: { key: newKey(), ...body } };
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
