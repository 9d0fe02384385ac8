// What a person sees of an item: a picture, a stretch of video, a window of a time series, or a row of a table.

import { itemPath } from "./api.js";
import { bars, lines } from "./chart.js";
import { make, picture } from "./dom.js";
import { number } from "./words.js";

const VIEWS = { before: "as it is", after: "without what distracts", taken: "what was taken out" };

export function exhibit(item) {
  const shown = item.exhibit;
  return { image, video, window: courses, row: cells }[shown.kind](item, shown);
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
  player.setAttribute("aria-label", "The stretch of video: left as it is, right without what distracts");
  player.addEventListener("loadedmetadata", () => {
    const from = seconds?.[0] ?? 0;
    if (peak !== null && peak !== undefined) player.currentTime = Math.max(0, Math.min(player.duration, peak - from));
  }, { once: true });
  const figure = make("figure", { class: "clip" }, player,
    make("figcaption", {}, "Left as it is, right without what distracts. The bar below marks the alarm."));
  player.addEventListener("error", () => player.replaceWith(make("p", { class: "quiet" }, "This stretch of video cannot be shown.")));
  return [figure, ...parts];
}

function leftOut(many, what) {
  return many ? [make("p", { class: "quiet" }, `${many} more ${what} are not shown: they carried less.`)] : [];
}

function courses(item, { series, left_out: more }) {
  const key = make("p", { class: "legend" }, make("span", { class: "key values" }, "as it is"),
    make("span", { class: "key now" }, "without what distracts"), make("span", { class: "key usual" }, "usual here"));
  return [key, make("div", { class: "courses" }, ...series.map(lines)), ...leftOut(more, "columns")];
}

function cells(item, { cells: all, left_out: more }) {
  const head = ["cell", "value", "usual here", "without what distracts", "part of the score"];
  const body = all.map(({ name, value, usual, after, part }) => make("tr", {},
    make("th", { scope: "row" }, make("bdi", {}, name)),
    ...[value, usual, after].map((one) => make("td", { class: "number" }, number(one))),
    make("td", { class: "carried" })));
  // One scale for all bars: they are made together and handed out row by row.
  const drawn = bars(all.map(({ name, part }) => ({ name, part })));
  [...drawn.children].forEach((bar, place) => body[place].lastChild.replaceChildren(bar.querySelector(".amount"), bar.querySelector(".rail")));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head.map((word) => make("th", { scope: "col" }, word)))), make("tbody", {}, ...body));
  return [make("div", { class: "wide", tabIndex: 0, role: "group", "aria-label": "The row, cell by cell" }, table), ...leftOut(more, "cells")];
}
