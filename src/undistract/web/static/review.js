// The review page: opens on the strongest open alarm, sends answers, and follows the ranking as it changes.

import { itemPath, read } from "./api.js";
import { ask } from "./dialogs.js";
import { find } from "./dom.js";
import { exhibit } from "./exhibit.js";
import { listen } from "./keys.js";
import { List } from "./list.js";
import { Outbox } from "./outbox.js";
import { preview } from "./preview.js";
import { Queue } from "./queue.js";
import { renew, summary } from "./summary.js";
import { Track } from "./track.js";
import { history, why } from "./why.js";
import { count, number, place } from "./words.js";

const WHO = "undistract reviewer";
const DONE = "undistract answers";

const queue = new Queue();
const list = new List(find("list"), queue, (id) => open(id));
const track = new Track({
  box: find("track"), canvas: find("track-canvas"), words: find("track-words"), choice: find("track-set"), pick: (id) => open(id),
});
const outbox = new Outbox({ saved, refused, changed: saving });
const mine = JSON.parse(sessionStorage.getItem(DONE) ?? "[]"); // what undo takes back, newest last

let about = null;
let item = null;
let who = localStorage.getItem(WHO);
let opening = null;
let newest = 0; // the number of the newest answer of one's own
let drawn = null; // the version that the exhibit shows
const passed = new Set(); // items that were looked at and left without an answer
let restored = null; // an item whose answer was undone: the list follows it to its old place
let stood = -1; // the shown item's place in the list when it was opened

function trouble(error) {
  find("trouble").hidden = !error;
  find("trouble-words").textContent = error?.message ?? "";
}

const say = (words) => (find("changed").textContent = words);

// --- one item -------------------------------------------------------------------------------------------------------

// Somebody wants to see it.
function open(id) {
  list.select(id);
  stood = queue.indexOf(id);
  drawer(false);
  return show(id);
}

async function show(id) {
  opening?.abort();
  const asked = (opening = new AbortController());
  let found;
  try {
    found = await read(itemPath(id), asked.signal);
  } catch (error) {
    if (error.name !== "AbortError") trouble(error);
    return;
  }
  if (asked.signal.aborted) return;
  if (item?.id !== found.id || outdated()) {
    find("exhibit").replaceChildren(...exhibit(found));
    find("exhibit").dataset.learned = queue.about.event;
    drawn = queue.about.version;
  }
  item = found;
  find("centre").dataset.item = item.id;
  find("item-name").textContent = item.set_name;
  const gone = item.was_alarm && !item.alarm && !item.answer ? " · below the threshold now, n goes on" : "";
  find("item-words").textContent = `${place(item)} · score ${number(item.score)}${gone}`;
  find("play").hidden = !player();
  find("why").replaceChildren(...why(item, queue.about.threshold));
  find("history").replaceChildren(...history(item, takeBack));
  track.go(item);
}

// What is ignored changed since the exhibit was drawn. A video that plays goes on playing.
const outdated = () => drawn !== queue.about.version && !queue.about.busy && (player()?.paused ?? true);

const player = () => find("exhibit").querySelector("video");

function play() {
  const video = player();
  if (video?.paused) video.play();
  else video?.pause();
}

async function step(by) {
  passed.add(list.current);
  // Where the ranking moved the item away, the walk does not follow it.
  const moved = queue.indexOf(list.current) !== stood;
  let next = moved && by > 0 ? queue.nextOpen(passed) : null;
  if (!next) {
    const to = Math.max(0, Math.min(queue.about.total - 1, stood + by));
    await queue.need(to, to);
    next = queue.at(to);
  }
  if (next && next.id !== list.current) await open(next.id);
}

// --- answers --------------------------------------------------------------------------------------------------------

function remember(change) {
  change(mine);
  sessionStorage.setItem(DONE, JSON.stringify(mine.slice(-200)));
}

async function answer(word, settings = {}) {
  if (!item) return;
  const id = item.id;
  const key = outbox.put("/api/verdicts", { item: id, answer: word, who: who ?? "", ...settings });
  queue.mine.set(id, { answer: word, who, event: null, key });
  remember((all) => all.push({ key, item: id }));
  progress();
  list.render();
  passed.delete(id);
  const next = queue.nextOpen(passed);
  if (next) await open(next.id);
  else if (queue.open <= 0) await summary("Every alarm has an answer.").catch(trouble);
}

function takeBack(of, id = item.id) {
  const key = outbox.put("/api/withdrawals", { of, who: who ?? "" });
  queue.mine.set(id, { answer: null, who: null, event: null, key });
  remember((all) => {
    const place = all.findIndex((one) => one.key === of);
    if (place >= 0) all.splice(place, 1);
  });
  progress();
  list.render();
}

function undo() {
  const last = mine.at(-1);
  if (!last) return say("There is no answer of yours to take back.");
  takeBack(last.key, last.item);
  say("Your last answer was taken back.");
  if (last.item) open(last.item);
  restored = last.item;
}

async function ignoreAll() {
  const settings = item && (await preview(item));
  if (settings) answer("familiar", settings);
}

async function calm() {
  if (!track.view) return;
  const { set, start, stop } = track.view;
  const [from, to] = [find("calm-from"), find("calm-to")];
  find("calm-words").textContent = `All rows of this stretch of ${about.sets[set].name} are normal. They are learned as a set of their own.`;
  [from.max, to.max] = [about.sets[set].rows - 1, about.sets[set].rows - 1];
  [from.value, to.value] = [start, stop - 1];
  if (!(await ask("calm"))) return;
  const [first, last] = [Number(from.value), Number(to.value)].sort((one, other) => one - other);
  const key = outbox.put("/api/verdicts", { item: `${set}-${first}-${last + 1}`, answer: "calm", who: who ?? "" });
  remember((all) => all.push({ key, item: null }));
}

function saved(body, event) {
  for (const one of queue.mine.values()) if (one.key === body.key) one.event = event;
  newest = Math.max(newest, event);
  trouble(null);
}

function refused(body, error) {
  for (const [id, one] of queue.mine) if (one.key === body.key) queue.mine.delete(id);
  remember((all) => {
    const place = all.findIndex((one) => one.key === body.key);
    if (place >= 0) all.splice(place, 1);
  });
  trouble(error);
  progress();
  list.render();
}

function saving(waiting, error) {
  const box = find("saving");
  box.textContent = waiting ? `${count(waiting, "answer")} not saved yet` : "saved";
  box.dataset.waiting = waiting;
  if (error) trouble({ message: `${error.message} Your answers are kept here and sent again. Keep this page open.` });
}

// --- the ranking ----------------------------------------------------------------------------------------------------

function progress() {
  const { total } = queue.about;
  const done = total - queue.open;
  find("progress").max = Math.max(1, total);
  find("progress").value = done;
  find("progress-words").textContent = `${done} answered, ${total - done} open`;
}

let reading = false;
let again = false;
let complained = null; // why the server could not learn, as it said last: shown once for each answer, and gone with its cause
let settled = null; // the version before the answers that are being learned: what changed is said from there on

// Bring the list up to date: one reading at a time, and one more if something came meanwhile.
async function refresh() {
  again = true;
  if (reading) return;
  reading = true;
  while (again) {
    again = false;
    try {
      await queue.refresh(...list.range);
      list.render();
      const { version, event, learned, busy, problem } = queue.about;
      document.body.dataset.ranked = learned;
      if (settled !== null && version > settled) {
        const { moved, words } = await read(`/api/changes?version=${settled}`);
        list.changed(moved);
        say(words);
      }
      if (!busy) {
        settled = version;
        document.body.dataset.learned = event;
        if (restored && restored === list.current) {
          list.select(restored);
          stood = queue.indexOf(restored);
          restored = null;
        }
      }
      const complaint = problem && { learned, message: problem };
      if (complaint?.learned !== complained?.learned || complaint?.message !== complained?.message) {
        if (complaint) trouble(complaint);
        else if (find("trouble-words").textContent === complained.message) trouble(null);
        complained = complaint;
      }
      progress();
      track.ask();
      await renew();
      if (list.current) await show(list.current); // somebody else may have answered it
    } catch (error) {
      trouble(error);
    }
  }
  reading = false;
}

function follow() {
  const events = new EventSource("/api/events");
  events.addEventListener("message", (message) => {
    const { version, event } = JSON.parse(message.data);
    // An answer of one's own is shown already; the server is left to learn from it.
    if (version !== queue.about.version || (event !== queue.about.event && event !== newest)) refresh();
  });
}

// --- the page -------------------------------------------------------------------------------------------------------

function drawer(wanted = !document.body.classList.contains("drawer-open")) {
  document.body.classList.toggle("drawer-open", wanted);
  find("drawer").setAttribute("aria-expanded", String(wanted));
}

// Whoever reaches beside the open list, or presses Escape, wants to leave it.
addEventListener("click", (event) => event.target.closest?.("nav, #drawer") || drawer(false));
addEventListener("keydown", (event) => event.key === "Escape" && drawer(false));

async function name() {
  find("name-field").value = who ?? "";
  await ask("name");
  who = find("name-field").value.trim();
  localStorage.setItem(WHO, who);
  reviewer();
}

function reviewer() {
  find("reviewer").textContent = who ? `Reviewer: ${who}` : "Your name…";
  find("reviewer").setAttribute("aria-label", find("reviewer").textContent);
}

listen({
  familiar: () => answer("familiar"), anomaly: () => answer("anomaly"), unsure: () => answer("unsure"),
  undo, preview: ignoreAll, calm, play, name, drawer: () => drawer(),
  next: () => step(1).catch(trouble), previous: () => step(-1).catch(trouble),
  left: () => track.view && track.pan(-0.25), right: () => track.view && track.pan(0.25),
  closer: () => track.view && track.zoom(0.5), wider: () => track.view && track.zoom(2), whole: () => track.view && track.whole(),
  summary: () => summary().catch(trouble), export: () => ask("export"), help: () => ask("help"), dismiss: () => trouble(null),
});

async function start() {
  reviewer();
  about = await read("/api/about");
  track.know(about.sets);
  await refresh();
  const first = queue.nextOpen(passed) ?? queue.at(0);
  if (first) await open(first.id);
  else {
    find("item-name").textContent = "No alarms";
    find("item-words").textContent = "Nothing scored over the threshold, so there is nothing to review.";
    if (about.sets.length) track.whole(0);
  }
  follow();
  if (who === null) name();
}

start().catch(trouble);
