// The review page: shows the strongest open alarm, sends verdicts, and updates the list when the ranking changes.

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
const mine = JSON.parse(sessionStorage.getItem(DONE) ?? "[]"); // verdicts that undo can withdraw, newest last

let about = null;
let item = null;
let who = localStorage.getItem(WHO);
let opening = null;
let newest = 0; // the event number of the newest verdict given here
let drawn = null; // the version of the ranking that the exhibit was drawn for
const passed = new Set(); // items that were skipped without a verdict
let restored = null; // an item whose verdict was undone: the list scrolls to its new position
let openedIndex = -1; // the position of the item in the list when it was opened

function trouble(error) {
  find("trouble").hidden = !error;
  find("trouble-words").textContent = error?.message ?? "";
}

const announce = (text) => (find("changed").textContent = text);

// --- one item -------------------------------------------------------------------------------------------------------

function open(id) {
  list.select(id);
  openedIndex = queue.indexOf(id);
  drawer(false);
  return show(id);
}

async function show(id) {
  opening?.abort();
  const request = (opening = new AbortController());
  let loaded;
  try {
    loaded = await read(itemPath(id), request.signal);
  } catch (error) {
    if (error.name !== "AbortError") trouble(error);
    return;
  }
  if (request.signal.aborted) return;
  if (item?.id !== loaded.id || outdated()) {
    find("exhibit").replaceChildren(...exhibit(loaded));
    find("exhibit").dataset.learned = queue.about.event;
    drawn = queue.about.version;
  }
  item = loaded;
  find("centre").dataset.item = item.id;
  find("item-name").textContent = item.group_name;
  const resolved = item.was_alarm && !item.alarm && !item.answer ? " · below the threshold now, press n for the next" : "";
  find("item-words").textContent = `${place(item)} · score ${number(item.score)}${resolved}`;
  find("play").hidden = !player();
  find("why").replaceChildren(...why(item, queue.about.threshold));
  find("history").replaceChildren(...history(item, takeBack));
  track.go(item);
}

// The ranking changed after the exhibit was drawn. A playing video is not interrupted.
const outdated = () => drawn !== queue.about.version && !queue.about.busy && (player()?.paused ?? true);

const player = () => find("exhibit").querySelector("video");

function play() {
  const video = player();
  if (video?.paused) video.play();
  else video?.pause();
}

async function step(by) {
  passed.add(list.current);
  // If the ranking moved the item, continue with the next open one instead of its new neighbours.
  const moved = queue.indexOf(list.current) !== openedIndex;
  let next = moved && by > 0 ? queue.nextOpen(passed) : null;
  if (!next) {
    const to = Math.max(0, Math.min(queue.about.total - 1, openedIndex + by));
    await queue.need(to, to);
    next = queue.at(to);
  }
  if (next && next.id !== list.current) await open(next.id);
}

// --- verdicts -------------------------------------------------------------------------------------------------------

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
  else if (queue.open <= 0) await summary("All alarms are reviewed.").catch(trouble);
}

function takeBack(of, id = item.id) {
  const key = outbox.put("/api/withdrawals", { of, who: who ?? "" });
  queue.mine.set(id, { answer: null, who: null, event: null, key });
  forget(of);
  progress();
  list.render();
}

function forget(key) {
  remember((all) => {
    const index = all.findIndex((verdict) => verdict.key === key);
    if (index >= 0) all.splice(index, 1);
  });
}

function undo() {
  const last = mine.at(-1);
  if (!last) return announce("You have no verdict to undo.");
  takeBack(last.key, last.item);
  announce("Your last verdict was withdrawn.");
  if (last.item) open(last.item);
  restored = last.item;
}

async function ignoreAll() {
  const settings = item && (await preview(item));
  if (settings) answer("false_alarm", settings);
}

async function calm() {
  if (!track.view) return;
  const { set, start, stop } = track.view;
  const [from, to] = [find("calm-from"), find("calm-to")];
  find("calm-words").textContent = `Mark all rows of this part of ${about.groups[set].name} as normal. They become a separate training group.`;
  [from.max, to.max] = [about.groups[set].rows - 1, about.groups[set].rows - 1];
  [from.value, to.value] = [start, stop - 1];
  if (!(await ask("calm"))) return;
  const [first, last] = [Number(from.value), Number(to.value)].sort((a, b) => a - b);
  const key = outbox.put("/api/verdicts", { item: `${set}-${first}-${last + 1}`, answer: "calm", who: who ?? "" });
  remember((all) => all.push({ key, item: null }));
}

function saved(body, event) {
  for (const verdict of queue.mine.values()) if (verdict.key === body.key) verdict.event = event;
  newest = Math.max(newest, event);
  trouble(null);
}

function refused(body, error) {
  for (const [id, verdict] of queue.mine) if (verdict.key === body.key) queue.mine.delete(id);
  forget(body.key);
  trouble(error);
  progress();
  list.render();
}

function saving(waiting, error) {
  const box = find("saving");
  box.textContent = waiting ? `${count(waiting, "verdict")} not saved yet` : "saved";
  box.dataset.waiting = waiting;
  if (error) trouble({ message: `${error.message} Your verdicts are kept and will be sent again. Keep this page open.` });
}

// --- the ranking ----------------------------------------------------------------------------------------------------

function progress() {
  const { total } = queue.about;
  const done = total - queue.open;
  find("progress").max = Math.max(1, total);
  find("progress").value = done;
  find("progress-words").textContent = `${done} reviewed, ${total - done} open`;
}

let isRefreshing = false;
let isStale = false;
let complained = null; // the last message why feedback could not be applied: shown once, removed when it is resolved
let settled = null; // the version before the verdicts that are being applied: changes are reported relative to it

// Update the list. Only one update runs at a time; changes in the meantime start another one.
async function refresh() {
  isStale = true;
  if (isRefreshing) return;
  isRefreshing = true;
  while (isStale) {
    isStale = false;
    try {
      await queue.refresh(...list.range);
      list.render();
      const { version, event, learned, busy, problem } = queue.about;
      document.body.dataset.ranked = learned;
      if (settled !== null && version > settled) {
        const { moved, words } = await read(`/api/changes?version=${settled}`);
        list.changed(moved);
        announce(words);
      }
      if (!busy) {
        settled = version;
        document.body.dataset.learned = event;
        if (restored && restored === list.current) {
          list.select(restored);
          openedIndex = queue.indexOf(restored);
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
      if (list.current) await show(list.current); // another reviewer may have answered it
    } catch (error) {
      trouble(error);
    }
  }
  isRefreshing = false;
}

function follow() {
  const events = new EventSource("/api/events");
  events.addEventListener("message", (message) => {
    const { version, event } = JSON.parse(message.data);
    // A verdict given here is shown already; wait until the server has applied it.
    if (version !== queue.about.version || (event !== queue.about.event && event !== newest)) refresh();
  });
}

// --- the page -------------------------------------------------------------------------------------------------------

function drawer(isOpen = !document.body.classList.contains("drawer-open")) {
  document.body.classList.toggle("drawer-open", isOpen);
  find("drawer").setAttribute("aria-expanded", String(isOpen));
}

// A click outside of the open list, or Escape, closes it.
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
  false_alarm: () => answer("false_alarm"), anomaly: () => answer("anomaly"), unsure: () => answer("unsure"),
  undo, preview: ignoreAll, calm, play, name, drawer: () => drawer(),
  next: () => step(1).catch(trouble), previous: () => step(-1).catch(trouble),
  left: () => track.view && track.pan(-0.25), right: () => track.view && track.pan(0.25),
  closer: () => track.view && track.zoom(0.5), wider: () => track.view && track.zoom(2), whole: () => track.view && track.whole(),
  summary: () => summary().catch(trouble), export: () => ask("export"), help: () => ask("help"), dismiss: () => trouble(null),
});

async function start() {
  reviewer();
  about = await read("/api/about");
  track.know(about.groups);
  await refresh();
  const first = queue.nextOpen(passed) ?? queue.at(0);
  if (first) await open(first.id);
  else {
    find("item-name").textContent = "No alarms";
    find("item-words").textContent = "No score is above the threshold, so there is nothing to review.";
    if (about.groups.length) track.whole(0);
  }
  follow();
  if (who === null) name();
}

start().catch(trouble);
