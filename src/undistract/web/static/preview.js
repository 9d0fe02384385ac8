// "Ignore all like this": shows the effect of a false alarm verdict before it is accepted.

import { send } from "./api.js";
import { bars } from "./chart.js";
import { ask } from "./dialogs.js";
import { find, make, picture } from "./dom.js";
import { count, number, place } from "./words.js";

const DAY = 86400;
const SHOWN = 8;

const field = (name) => find(`preview-${name}`);

function settings(item) {
  return { item: item.id, answer: "false_alarm", scope: field("scope").value, strength: Number(field("strength").value) };
}

function itemList(title, items, detail = () => "") {
  if (!items.length) return null;
  const list = items.slice(0, SHOWN).map((item) => make("li", {}, make("bdi", {}, item.group_name), ` ${place(item)}${detail(item)}`));
  const more = items.length > SHOWN ? [make("li", { class: "quiet" }, `and ${items.length - SHOWN} more`)] : [];
  return make("div", {}, make("h3", {}, title), make("ul", {}, ...list, ...more));
}

function effect(item, result) {
  const { vanish, appear, weaken, direction, protected: isProtected, removed, removed_then: removedAfter, words } = result;
  const query = new URLSearchParams(settings(item));
  const image = direction.picture ? make("div", { class: "pictures" }, picture(`/api/preview.png?${query}`, "the direction to be ignored")) : null;
  return [
    make("p", { class: "words" }, words),
    isProtected ? make("p", { class: "caution" }, "A confirmed anomaly deviates along this direction, so it is protected and stays.") : null,
    make("p", { class: "quiet" }, `Ignored directions: ${removed} now, ${removedAfter} afterwards.`),
    itemList(`${count(vanish.length, "alarm")} would disappear`, vanish),
    itemList(`${count(appear.length, "alarm")} would appear`, appear),
    itemList(`${count(weaken.length, "confirmed anomaly", "confirmed anomalies")} would get weaker`, weaken, (item) => `: ${number(item.score)} → ${number(item.then)}`),
    make("div", {}, make("h3", {}, "What would be ignored"), image, bars(direction.features, "contributes")),
  ].filter(Boolean);
}

// Open the preview. Resolves to the settings of the verdict, or to null if it was cancelled.
export async function preview(item) {
  const box = find("preview-shown");
  const accept = field("accept");
  let newest = 0;
  let timer = null;
  let isReady = false;
  // The effect must be visible before it can be accepted. The button is not disabled, because it would lose the focus.
  const ready = (state) => accept.setAttribute("aria-disabled", String(!(isReady = state)));
  const hold = (event) => isReady || event.preventDefault();
  const load = async () => {
    const mine = ++newest;
    box.setAttribute("aria-busy", "true");
    ready(false);
    try {
      const result = await send("/api/preview", settings(item));
      if (mine !== newest) return;
      box.replaceChildren(...effect(item, result));
      ready(true);
    } catch (error) {
      if (mine === newest) box.replaceChildren(make("p", { class: "caution" }, error.message));
    } finally {
      if (mine === newest) box.removeAttribute("aria-busy");
    }
  };
  const again = () => {
    clearTimeout(timer);
    ready(false);
    if (field("strength").checkValidity()) timer = setTimeout(load, 150);
  };
  field("form").reset();
  box.replaceChildren(make("p", {}, "Computing the effect…"));
  const controls = [field("scope"), field("strength")];
  controls.forEach((control) => control.addEventListener("input", again));
  field("form").addEventListener("submit", hold);
  load();
  const accepted = await ask("preview");
  newest = -1;
  clearTimeout(timer);
  controls.forEach((control) => control.removeEventListener("input", again));
  field("form").removeEventListener("submit", hold);
  if (!accepted) return null;
  const days = Number(field("expires").value);
  const { scope, strength } = settings(item);
  return { scope, strength, expires: days ? Math.floor(Date.now() / 1000) + days * DAY : null, note: field("note").value };
}
