// The summary dialog: the verdicts so far and their effect.

import { read } from "./api.js";
import { bars } from "./chart.js";
import { ask } from "./dialogs.js";
import { find, make, picture } from "./dom.js";
import { count, label, number } from "./words.js";

function table(caption, entries) {
  return make("table", {}, make("caption", {}, caption), make("tbody", {}, ...entries.map(([name, total]) =>
    make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name || "no name")), make("td", { class: "number" }, String(total))))));
}

function direction({ distraction, from_feedback: fromFeedback, features, picture: hasImage }, index) {
  const title = `${index + 1}. ${fromFeedback ? "from feedback" : "from training"}, distraction ${number(distraction)}`;
  return make("li", { class: "direction" }, make("h4", {}, title),
    hasImage ? make("div", { class: "pictures" }, picture(`/api/summary/directions/${index}.png`, "the direction as an image")) : bars(features, "contributes"));
}

let heading = ""; // the first line of the open summary

export async function summary(text = "") {
  heading = text;
  await fill();
  return ask("summary");
}

// The last verdict opens the summary before the list is re-ranked, so an open summary is updated afterwards.
export async function renew() {
  if (find("summary-dialog").open) await fill();
}

async function fill() {
  const box = find("summary-shown");
  const result = await read("/api/summary");
  const { verdicts, reviewers, removed, removed_before: removedBefore, alarms, alarms_before: alarmsBefore, directions, words } = result;
  const answers = Object.entries(verdicts).map(([answer, total]) => [label(answer), total]);
  box.replaceChildren(
    ...(heading ? [make("p", { class: "words" }, heading)] : []),
    make("p", { class: "words" }, words),
    make("dl", {}, make("dt", {}, "Alarms"), make("dd", { id: "summary-alarms" }, `${alarmsBefore} before, ${alarms} now`),
      make("dt", {}, "Directions ignored"), make("dd", {}, `${removedBefore} before, ${removed} now`)),
    make("div", { class: "tables" }, table("Verdicts", answers), table("Reviewers", Object.entries(reviewers))),
    make("h3", {}, count(directions.length, "ignored direction")),
    make("ol", { class: "directions" }, ...directions.map(direction)),
  );
}
