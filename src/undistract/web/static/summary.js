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

export async function summary(opening = "") {
  const box = find("summary-shown");
  const found = await read("/api/summary");
  const { verdicts, reviewers, removed, removed_before: had, alarms, alarms_before: were, directions, words } = found;
  box.replaceChildren(
    ...(opening ? [make("p", { class: "words" }, opening)] : []),
    make("p", { class: "words" }, words),
    make("dl", {}, make("dt", {}, "Alarms"), make("dd", { id: "summary-alarms" }, `${were} before, ${alarms} now`),
      make("dt", {}, "Directions ignored"), make("dd", {}, `${had} before, ${removed} now`)),
    make("div", { class: "tables" }, table("Answers", Object.entries(verdicts)), table("By", Object.entries(reviewers))),
    make("h3", {}, count(directions.length, "ignored direction")),
    make("ol", { class: "directions" }, ...directions.map(direction)),
  );
  return ask("summary");
}
