// The explanation of an item, its rank, and its history of verdicts.

import { bars } from "./chart.js";
import { make } from "./dom.js";
import { date, label, number } from "./words.js";

export function why(item, threshold) {
  const { text, ignored, features } = item.explanation;
  const share = ignored === null ? null : Math.round(100 * ignored);
  const position = threshold === null ? "none" : item.alarm ? "exceeded" : "not reached";
  const facts = make("dl", {}, ...[
    ["Score", item.score === item.was ? number(item.score) : `${number(item.score)}, was ${number(item.was)}`],
    ["Rank", item.rank === item.was_rank ? String(item.rank) : `${item.rank}, was ${item.was_rank}`],
    ["Threshold", position],
  ].flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const bar = make("span", { class: "bar" });
  const meter = share === null ? null : make("div", { class: "ignored" },
    make("span", {}, `${share} % of the deviation is ignored`),
    make("span", { class: "rail", "aria-hidden": "true" }, bar));
  bar.style.width = `${share}%`;
  return [facts, make("p", { class: "text" }, text), meter, bars(features)].filter(Boolean);
}

// The newest verdict first. Everybody can withdraw an active verdict; the history records who did.
export function history(item, takeBack) {
  const withdrawn = new Set(item.history.filter((event) => event.of).map((event) => event.of));
  const entry = (event) => make("li", { class: withdrawn.has(event.key) ? "withdrawn" : "" },
    make("span", { class: `badge ${event.of ? "" : event.answer}` }, event.of ? "withdrawn" : label(event.answer)),
    " ", make("bdi", {}, event.who || "no name"), " ", make("time", { class: "quiet" }, date(event.when)),
    event.scope === "context" ? make("span", { class: "quiet" }, " in this group only") : null,
    event.expires ? make("span", { class: "quiet" }, ` until ${date(event.expires)}`) : null,
    event.note ? make("p", { class: "said" }, event.note) : null,
    event.key === item.key ? make("button", { type: "button", class: "small", onclick: () => takeBack(event.key) }, "Withdraw") : null);
  const events = [...item.history].reverse().map(entry);
  return events.length ? events : [make("li", { class: "quiet" }, "No verdict yet.")];
}
