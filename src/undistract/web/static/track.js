// The score track of one group. The server reduces the scores to the width of the track. On a zoom, the old scores are
// stretched immediately, and finer ones are loaded.

import { read } from "./api.js";
import { make } from "./dom.js";
import { paint, PADDING } from "./track_paint.js";

const SMALLEST = 20; // visible rows at the closest zoom
const SETTLE = 80; // ms without a movement before finer scores are loaded
const NEAR = 12; // px around an alarm that still select it

export class Track {
  constructor({ box, canvas, words, choice, pick }) {
    Object.assign(this, { box, canvas, words, choice, pick, data: null, view: null, item: null, groups: [] });
    new ResizeObserver(() => this.ask()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    choice.addEventListener("change", () => this.whole(Number(choice.value)));
    box.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.drag();
  }

  know(groups) {
    this.groups = groups;
    this.choice.replaceChildren(...groups.map((group) => make("option", { value: String(group.id) }, group.name)));
  }

  get total() {
    return this.groups[this.view.set].rows;
  }

  whole(set = this.view.set) {
    this.show(set, 0, this.groups[set].rows);
  }

  // Scroll to an item.
  go(item) {
    this.item = item;
    if (this.view?.set !== item.set) return this.whole(item.set);
    const { start, stop } = this.view;
    if (item.peak >= start && item.peak < stop) return this.paint();
    const half = (stop - start) / 2;
    this.show(item.set, item.peak - half, item.peak + half);
  }

  show(set, start, stop) {
    const total = this.groups[set].rows;
    const span = Math.min(total, Math.max(Math.round(stop - start), Math.min(SMALLEST, total)));
    const first = Math.max(0, Math.min(Math.round(start), total - span));
    if (this.view?.set !== set) this.data = null;
    this.view = { set, start: first, stop: first + span };
    this.choice.value = String(set);
    this.paint();
    this.ask();
  }

  zoom(factor, at = 0.5) {
    const { set, start, stop } = this.view;
    const span = Math.min(this.total, Math.max(SMALLEST, (stop - start) * factor));
    const middle = start + (stop - start) * at;
    this.show(set, middle - span * at, middle + span * (1 - at));
  }

  pan(share) {
    const { set, start, stop } = this.view;
    const step = (stop - start) * share;
    this.show(set, start + step, stop + step);
  }

  ask() {
    clearTimeout(this.timer);
    if (this.view) this.timer = setTimeout(() => this.load(), SETTLE);
  }

  async load() {
    this.request?.abort();
    this.request = new AbortController();
    const { set, start, stop } = this.view;
    const width = Math.max(50, Math.min(4000, Math.round(this.box.clientWidth)));
    try {
      this.data = await read(`/api/groups/${set}/track?start=${start}&stop=${stop}&width=${width}`, this.request.signal);
    } catch (error) {
      return; // replaced by a newer request, or offline, which the outbox and the list report already
    }
    this.paint();
    Object.assign(this.box.dataset, { set, start, stop, buckets: this.data.rows.length });
  }

  paint() {
    if (!this.view) return;
    const { start, stop } = this.view;
    paint(this.canvas, this.box, this.view, this.data, this.item);
    this.words.textContent = `rows ${start}–${stop - 1} of ${this.total}`;
    const open = this.data?.items.filter(([, , , answer, alarm]) => alarm && !answer).length ?? 0;
    this.canvas.setAttribute("aria-label", `Scores of ${this.groups[this.view.set].name}, ${this.words.textContent}; ${open} visible open alarms`);
  }

  share(event) {
    const { left, width } = this.box.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - left - PADDING.left) / (width - PADDING.left - PADDING.right)));
  }

  wheel(event) {
    if (!this.view || event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(Math.sign(event.deltaX) * 0.1);
    else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.share(event));
  }

  drag() {
    let from = null;
    this.box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.view) return;
      from = { x: event.clientX, view: this.view, moved: false };
      this.box.setPointerCapture(event.pointerId);
    });
    this.box.addEventListener("pointermove", (event) => {
      if (!from) return;
      const step = event.clientX - from.x;
      if (!from.moved && Math.abs(step) < 5) return;
      from.moved = true;
      const { set, start, stop } = from.view;
      const rows = (-step / (this.box.clientWidth - PADDING.left - PADDING.right)) * (stop - start);
      this.show(set, start + rows, stop + rows);
    });
    this.box.addEventListener("pointerup", (event) => {
      if (from && !from.moved) this.click(event);
      from = null;
    });
    this.box.addEventListener("pointercancel", () => (from = null));
  }

  // The alarm under the pointer, or the nearest within a few pixels.
  click(event) {
    const { start, stop } = this.view;
    const row = start + this.share(event) * (stop - start);
    const away = ([first, last]) => Math.max(0, first - row, row - last);
    const nearest = [...(this.data?.items ?? [])].sort((one, other) => away(one) - away(other))[0];
    const allowed = (NEAR / this.box.clientWidth) * (stop - start);
    if (nearest && away(nearest) <= allowed) this.pick(nearest[2]);
  }
}
