// Verdicts that are not saved yet. Each has a unique key, so that sending it again records it once. They are sent in
// order, and a failed request is repeated until it succeeds.

import { send } from "./api.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const FINAL = new Set([400, 404, 409, 413, 422]); // rejected for good: do not repeat the request

// A random UUID. `crypto.randomUUID` is not available if the page came over plain HTTP from another machine.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export class Outbox {
  constructor({ saved, refused, changed }) {
    this.on = { saved, refused, changed };
    this.waiting = [];
    this.pause = FIRST_PAUSE;
    this.sending = false;
    addEventListener("online", () => this.flush());
    addEventListener("beforeunload", (event) => {
      if (this.waiting.length) event.preventDefault();
    });
  }

  put(path, body) {
    const request = { path, body: { key: newKey(), ...body } };
    this.waiting.push(request);
    this.on.changed(this.waiting.length, null);
    this.flush();
    return request.body.key;
  }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    clearTimeout(this.timer);
    let failure = null;
    while (this.waiting.length && !failure) {
      const request = this.waiting[0];
      try {
        const { event } = await send(request.path, request.body);
        this.waiting.shift();
        this.pause = FIRST_PAUSE;
        this.on.saved(request.body, event);
      } catch (error) {
        if (FINAL.has(error.status)) {
          this.waiting.shift();
          this.on.refused(request.body, error);
        } else failure = error;
      }
      this.on.changed(this.waiting.length, failure);
    }
    this.sending = false;
    if (failure) {
      this.timer = setTimeout(() => this.flush(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    }
  }
}
