// Why an item was flagged, where it stands, and who answered what.

import { bars } from "./chart.js";
import { make } from "./dom.js";
import { date, number } from "./words.js";

export function why(item, threshold) {
  const { text, ignored, features } = item.explanation;
  const share = ignored === null ? null : Math.round(100 * ignored);
  const stands = make("dl", {}, ...[
    ["Score", item.score === item.was ? number(item.score) : `${number(item.score)}, was ${number(item.was)}`],
    ["Place", item.rank === item.was_rank ? String(item.rank) : `${item.rank}, was ${item.was_rank}`],
    ["Threshold", threshold === null ? "there is none" : item.alarm ? "above it" : "below it"],
  ].flatMap(([name, words]) => [make("dt", {}, name), make("dd", {}, words)]));
  const bar = make("span", { class: "bar" });
  const meter = share === null ? null : make("div", { class: "ignored" },
    make("span", {}, `${share} % of what is unusual about it is ignored`),
    make("span", { class: "rail", "aria-hidden": "true" }, bar));
  bar.style.width = `${share}%`;
  return [stands, make("p", { class: "text" }, text), meter, bars(features)].filter(Boolean);
}

// The newest answer first; a standing one can be taken back by anybody, and it is written down who did.
export function history(item, takeBack) {
  const withdrawn = new Set(item.history.filter((event) => event.of).map((event) => event.of));
  const said = (event) => make("li", { class: withdrawn.has(event.key) ? "withdrawn" : "" },
    make("span", { class: `badge ${event.of ? "" : event.answer}` }, event.of ? "taken back" : event.answer),
    " ", make("bdi", {}, event.who || "somebody"), " ", make("time", { class: "quiet" }, date(event.when)),
    event.scope === "context" ? make("span", { class: "quiet" }, " in this set only") : null,
    event.expires ? make("span", { class: "quiet" }, ` until ${date(event.expires)}`) : null,
    event.note ? make("p", { class: "said" }, event.note) : null,
    event.key === item.key ? make("button", { type: "button", class: "small", onclick: () => takeBack(event.key) }, "Take back") : null);
  const events = [...item.history].reverse().map(said);
  return events.length ? events : [make("li", { class: "quiet" }, "Nobody answered yet.")];
}
