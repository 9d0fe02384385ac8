// The ranked list: pages that were loaded, and verdicts given here that the server has not ranked yet.

import { read } from "./api.js";

const PAGE = 200;

export class Queue {
  constructor() {
    this.pages = new Map();
    this.about = { version: -1, event: -1, total: 0, open: 0, answered: 0, busy: false };
    this.mine = new Map(); // item → { answer, event }: used until the list of the server includes that event
  }

  at(index) {
    const item = this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
    const mine = item && this.mine.get(item.id);
    return mine ? { ...item, answer: mine.answer, who: mine.answer && mine.who } : item;
  }

  indexOf(id) {
    for (const [page, items] of this.pages) {
      const index = items.findIndex((item) => item.id === id);
      if (index >= 0) return page * PAGE + index;
    }
    return -1;
  }

  // The number of open items, including verdicts that were given here.
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

  // Load missing pages between two indices. Resolves to true if something was loaded.
  async need(first, last) {
    let isNew = false;
    for (let number = Math.floor(first / PAGE); number * PAGE <= Math.min(last, this.about.total - 1); number++) {
      if (this.pages.has(number)) continue;
      const page = await this.page(number);
      if (page.version !== this.about.version || page.event !== this.about.event) return this.refresh(first, last);
      this.pages.set(number, page.items);
      isNew = true;
    }
    return isNew;
  }

  // Reload the visible pages and the first one, which has the open items. Other pages are loaded when they get visible.
  // Old pages stay until the new ones have arrived.
  async refresh(first, last) {
    const numbers = new Set([0]);
    for (let number = Math.floor(first / PAGE); number <= Math.floor(last / PAGE); number++) numbers.add(number);
    const pages = new Map();
    let about = null;
    for (const number of numbers) {
      const { items, ...state } = await this.page(number);
      if (about && (state.version !== about.version || state.event !== about.event)) return this.refresh(first, last);
      about = state;
      pages.set(number, items);
    }
    if (about.version < this.about.version || about.event < this.about.event) return false; // an older response that arrived late
    [this.pages, this.about] = [pages, about];
    // While the server re-ranks, its list may not include yet what it has recorded.
    for (const [id, { event }] of this.mine) {
      if (event !== null && event <= about.event && !about.busy) this.mine.delete(id);
    }
    return true;
  }

  // The strongest open item that was not skipped; if all were skipped, the strongest open one.
  nextOpen(passed) {
    let first = null;
    for (let index = 0; index < this.about.total; index++) {
      const item = this.at(index);
      if (!item || item.answer) continue;
      if (!passed.has(item.id)) return item;
      first ??= item;
    }
    return first;
  }
}
