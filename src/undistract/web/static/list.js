// The virtual list: only visible rows exist. A row keeps its element when the ranking changes, so that the style sheet
// can animate it to its new position.

import { make } from "./dom.js";
import { count, label, number, place } from "./words.js";

const HEIGHT = 60; // px, as in review.css
const SPARE = 6; // rows above and below the visible ones

export class List {
  constructor(box, queue, pick) {
    Object.assign(this, { box, queue, pick, current: null, moved: new Map(), rows: new Map() });
    this.sheet = make("div", { class: "sheet", role: "presentation" });
    box.append(this.sheet);
    box.addEventListener("scroll", () => this.render(), { passive: true });
    new ResizeObserver(() => this.render()).observe(box);
    this.sheet.addEventListener("click", (event) => {
      const row = event.target.closest("[data-item]");
      if (row) pick(row.dataset.item);
    });
  }

  get range() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - SPARE);
    const last = Math.ceil((this.box.scrollTop + this.box.clientHeight) / HEIGHT) + SPARE;
    return [first, Math.max(first, Math.min(last, this.queue.about.total - 1))];
  }

  render() {
    const [first, last] = this.range;
    this.sheet.style.height = `${this.queue.about.total * HEIGHT}px`;
    const visible = new Map();
    for (let index = first; index <= last && index < this.queue.about.total; index++) {
      const item = this.queue.at(index);
      const id = item?.id ?? `unread ${index}`;
      const row = this.rows.get(id) ?? make("div", { role: "option", class: "row" });
      if (!row.isConnected) this.sheet.append(row);
      row.style.transform = `translateY(${index * HEIGHT}px)`;
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-setsize", this.queue.about.total);
      if (item) this.fill(row, item);
      visible.set(id, row);
    }
    for (const [id, row] of this.rows) if (!visible.has(id)) row.remove();
    this.rows = visible;
    this.mark();
    this.queue.need(first, last).then((isNew) => isNew && this.render(), () => {});
  }

  fill(row, item) {
    const moved = this.moved.get(item.id);
    const content = JSON.stringify([item, moved]);
    if (row.content === content) return;
    row.content = content;
    row.id = `row-${item.id}`;
    row.dataset.item = item.id;
    row.dataset.answer = item.answer ?? "";
    row.classList.toggle("below", !item.alarm);
    const step = moved ? moved.from - moved.to : 0;
    row.replaceChildren(
      make("span", { class: "rank" }, String(item.rank)),
      make("bdi", { class: "set" }, item.group_name),
      make("span", { class: "score" }, number(item.score)),
      make("span", { class: "note" }, make("span", { class: "where" }, place(item)),
        item.answer ? make("span", { class: `badge ${item.answer}` }, label(item.answer), item.who ? " · " : "", make("bdi", {}, item.who ?? "")) : null,
        !item.answer && !item.alarm && item.was_alarm ? make("span", { class: "quiet" }, "no alarm now") : null,
        step ? make("span", { class: "step", "aria-label": `${step > 0 ? "up" : "down"} ${count(Math.abs(step), "place")}` },
          `${step > 0 ? "▲" : "▼"} ${Math.abs(step)}`) : null),
    );
  }

  mark() {
    for (const row of this.rows.values()) row.setAttribute("aria-selected", String(row.dataset.item === this.current));
    const id = `row-${this.current}`;
    if (this.rows.has(this.current)) this.box.setAttribute("aria-activedescendant", id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  select(id) {
    this.current = id;
    const index = this.queue.indexOf(id);
    if (index >= 0) {
      const [top, bottom] = [index * HEIGHT, (index + 1) * HEIGHT];
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
    }
    this.render();
  }

  // Show what the latest ranking moved, until the next ranking.
  changed(moved) {
    this.moved = new Map(moved.map((move) => [move.id, move]));
    this.render();
  }
}
