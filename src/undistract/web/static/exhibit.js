// The data of an item: an image, a part of a video, a window of a time series, or a row of a table.

import { itemPath } from "./api.js";
import { bars, lines } from "./chart.js";
import { make, picture } from "./dom.js";
import { number } from "./words.js";

const VIEWS = { before: "original", after: "cleaned", taken: "removed" };

export function exhibit(item) {
  return { image, video, window: courses, row: cells }[item.exhibit.kind](item, item.exhibit);
}

function pictures(item, views) {
  return make("div", { class: "pictures" }, ...views.map((view) =>
    picture(itemPath(item.id, `/picture.png?view=${encodeURIComponent(view)}`), VIEWS[view] ?? view)));
}

function image(item, { pictures: views }) {
  return [pictures(item, views)];
}

function video(item, { clip, pictures: views, seconds, peak_second: peak }) {
  const parts = views.length ? [pictures(item, views)] : [];
  if (!clip) return parts;
  const player = make("video", { src: itemPath(item.id, `/clip.mp4?version=${item.version}`), controls: true, loop: true, muted: true, playsInline: true, preload: "auto" });
  player.setAttribute("aria-label", "The video around the alarm: left original, right cleaned");
  player.addEventListener("loadedmetadata", () => {
    const from = seconds?.[0] ?? 0;
    if (peak !== null && peak !== undefined) player.currentTime = Math.max(0, Math.min(player.duration, peak - from));
  }, { once: true });
  const figure = make("figure", { class: "clip" }, player,
    make("figcaption", {}, "Left: original. Right: cleaned, without nuisance variation. The bar marks the alarm."));
  player.addEventListener("error", () => player.replaceWith(make("p", { class: "quiet" }, "This video cannot be shown.")));
  return [figure, ...parts];
}

function leftOut(number, noun) {
  return number ? [make("p", { class: "quiet" }, `${number} more ${noun} with smaller contributions are not shown.`)] : [];
}

function courses(item, { series, left_out: more }) {
  const key = make("p", { class: "legend" }, make("span", { class: "key values" }, "original"),
    make("span", { class: "key now" }, "cleaned"), make("span", { class: "key usual" }, "typical in this group"));
  return [key, make("div", { class: "courses" }, ...series.map(lines)), ...leftOut(more, "columns")];
}

function cells(item, { cells: all, left_out: more }) {
  const head = ["column", "value", "typical", "cleaned", "contribution to the score"];
  const body = all.map(({ name, value, usual, after, part }) => make("tr", {},
    make("th", { scope: "row" }, make("bdi", {}, name)),
    ...[value, usual, after].map((amount) => make("td", { class: "number" }, number(amount))),
    make("td", { class: "carried" })));
  // All bars share one scale: draw them together, then move each into its table row.
  const drawn = bars(all.map(({ name, part }) => ({ name, part })));
  [...drawn.children].forEach((bar, index) => body[index].lastChild.replaceChildren(bar.querySelector(".amount"), bar.querySelector(".rail")));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head.map((title) => make("th", { scope: "col" }, title)))), make("tbody", {}, ...body));
  return [make("div", { class: "wide", tabIndex: 0, role: "group", "aria-label": "The row, column by column" }, table), ...leftOut(more, "columns")];
}
