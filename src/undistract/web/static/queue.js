// The ranked list as far as it was read: pages by number, and what was answered here but is not ranked there yet.

import { read } from "./api.js";

const PAGE = 200;

export class Queue {
  constructor() {
    this.pages = new Map();
    this.about = { version: -1, event: -1, total: 0, open: 0, answered: 0, busy: false };
    this.mine = new Map(); // item → { answer, event }: shown until the server's list has seen that event
  }

  at(index) {
    const item = this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
    const mine = item && this.mine.get(item.id);
    return mine ? { ...item, answer: mine.answer, who: mine.answer && mine.who } : item;
  }

  indexOf(id) {
    for (const [page, items] of this.pages) {
      const found = items.findIndex((item) => item.id === id);
      if (found >= 0) return page * PAGE + found;
    }
    return -1;
  }

  // Answers given here count at once in what the header says.
  get open() {
    let change = 0;
    for (const [id, { answer }] of this.mine) {
      const index = this.indexOf(id);
      const item = index < 0 ? null : this.pages.get(Math.floor(index / PAGE))[index % PAGE];
      if (item) change += (item.answer ? 1 : 0) - (answer ? 1 : 0);
    }
    return this.about.open + change;
  }

  async page(number) {
    return read(`/api/queue?offset=${number * PAGE}&limit=${PAGE}`);
  }

  // Read what is missing between two places of the list; true if something came.
  async need(first, last) {
    let came = false;
    for (let number = Math.floor(first / PAGE); number * PAGE <= Math.min(last, this.about.total - 1); number++) {
      if (this.pages.has(number)) continue;
      const found = await this.page(number);
      if (found.version !== this.about.version || found.event !== this.about.event) return this.refresh(first, last);
      this.pages.set(number, found.items);
      came = true;
    }
    return came;
  }

  // Read again what is looked at, and the top, where the open ones are; all else is read when it is looked at.
  // Old pages stay until the new are here.
  async refresh(first, last) {
    const wanted = new Set([0]);
    for (let number = Math.floor(first / PAGE); number <= Math.floor(last / PAGE); number++) wanted.add(number);
    const pages = new Map();
    let about = null;
    for (const number of wanted) {
      const { items, ...rest } = await this.page(number);
      if (about && (rest.version !== about.version || rest.event !== about.event)) return this.refresh(first, last);
      about = rest;
      pages.set(number, items);
    }
    if (about.version < this.about.version || about.event < this.about.event) return false; // an older answer, late
    [this.pages, this.about] = [pages, about];
    // While the server still learns, its list may not show yet what it has recorded.
    for (const [id, { event }] of this.mine) {
      if (event !== null && event <= about.event && !about.busy) this.mine.delete(id);
    }
    return true;
  }

  // The strongest open item that was not passed over; if all were, the strongest open one.
  nextOpen(passed) {
    let first = null;
    for (let place = 0; place < this.about.total; place++) {
      const item = this.at(place);
      if (!item || item.answer) continue;
      if (!passed.has(item.id)) return item;
      first ??= item;
    }
    return first;
  }
}
