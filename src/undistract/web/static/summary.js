// What was answered, and what was learned from it.

import { read } from "./api.js";
import { bars } from "./chart.js";
import { ask } from "./dialogs.js";
import { find, make, picture } from "./dom.js";
import { count, number } from "./words.js";

function table(caption, entries) {
  return make("table", {}, make("caption", {}, caption), make("tbody", {}, ...entries.map(([name, many]) =>
    make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name || "somebody")), make("td", { class: "number" }, String(many))))));
}

function direction({ distraction, taught, features, picture: seen }, place) {
  const words = `${place + 1}. ${taught ? "taught by answers" : "known before"}, distraction ${number(distraction)}`;
  return make("li", { class: "direction" }, make("h4", {}, words),
    seen ? make("div", { class: "pictures" }, picture(`/api/summary/directions/${place}.png`, "the direction as a picture")) : bars(features, "makes up"));
}

let opened = ""; // what stands above the summary that is open

export async function summary(opening = "") {
  opened = opening;
  await fill();
  return ask("summary");
}

// The last answer opens the summary before it is learned from: what is open is brought up to date.
export async function renew() {
  if (find("summary-dialog").open) await fill();
}

async function fill() {
  const box = find("summary-shown");
  const found = await read("/api/summary");
  const { verdicts, reviewers, removed, removed_before: had, alarms, alarms_before: were, directions, words } = found;
  box.replaceChildren(
    ...(opened ? [make("p", { class: "words" }, opened)] : []),
    make("p", { class: "words" }, words),
    make("dl", {}, make("dt", {}, "Alarms"), make("dd", { id: "summary-alarms" }, `${were} before, ${alarms} now`),
      make("dt", {}, "Directions ignored"), make("dd", {}, `${had} before, ${removed} now`)),
    make("div", { class: "tables" }, table("Answers", Object.entries(verdicts)), table("By", Object.entries(reviewers))),
    make("h3", {}, count(directions.length, "ignored direction")),
    make("ol", { class: "directions" }, ...directions.map(direction)),
  );
}
