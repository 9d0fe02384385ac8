// "Ignore all like this": what would change is seen before it is accepted.

import { send } from "./api.js";
import { bars } from "./chart.js";
import { ask } from "./dialogs.js";
import { find, make, picture } from "./dom.js";
import { count, number, place } from "./words.js";

const DAY = 86400;
const SHOWN = 8;

const field = (name) => find(`preview-${name}`);

function asked(item) {
  return { item: item.id, answer: "familiar", scope: field("scope").value, strength: Number(field("strength").value) };
}

function some(title, items, words = () => "") {
  if (!items.length) return null;
  const list = items.slice(0, SHOWN).map((item) => make("li", {}, make("bdi", {}, item.set_name), ` ${place(item)}${words(item)}`));
  const more = items.length > SHOWN ? [make("li", { class: "quiet" }, `and ${items.length - SHOWN} more`)] : [];
  return make("div", {}, make("h3", {}, title), make("ul", {}, ...list, ...more));
}

function shown(item, found) {
  const { vanish, appear, weaken, direction, protected: kept, removed, removed_then: then, words } = found;
  const query = new URLSearchParams(asked(item));
  const way = direction.picture ? make("div", { class: "pictures" }, picture(`/api/preview.png?${query}`, "the direction that would go")) : null;
  return [
    make("p", { class: "words" }, words),
    kept ? make("p", { class: "caution" }, "A confirmed anomaly lies along this direction, so it is protected and stays.") : null,
    make("p", { class: "quiet" }, `${count(removed, "direction")} ignored now, ${then} then.`),
    some(`${count(vanish.length, "alarm")} would vanish`, vanish),
    some(`${count(appear.length, "alarm")} would appear`, appear),
    some(`${count(weaken.length, "confirmed anomaly", "confirmed anomalies")} would weaken`, weaken, (one) => `: ${number(one.score)} → ${number(one.then)}`),
    make("div", {}, make("h3", {}, "What would be ignored"), way, bars(direction.features, "makes up")),
  ].filter(Boolean);
}

// Show it and wait; gives the answer's settings, or null.
export async function preview(item) {
  const box = find("preview-shown");
  const accept = field("accept");
  let newest = 0;
  let timer = null;
  let seen = false;
  // Nothing is accepted unseen. The button keeps the focus meanwhile, so it is not disabled.
  const ready = (is) => accept.setAttribute("aria-disabled", String(!(seen = is)));
  const hold = (event) => seen || event.preventDefault();
  const look = async () => {
    const mine = ++newest;
    box.setAttribute("aria-busy", "true");
    ready(false);
    try {
      const found = await send("/api/preview", asked(item));
      if (mine !== newest) return;
      box.replaceChildren(...shown(item, found));
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
    if (field("strength").checkValidity()) timer = setTimeout(look, 150);
  };
  field("form").reset();
  box.replaceChildren(make("p", {}, "Looking what would change…"));
  const controls = [field("scope"), field("strength")];
  controls.forEach((control) => control.addEventListener("input", again));
  field("form").addEventListener("submit", hold);
  look();
  const accepted = await ask("preview");
  newest = -1;
  clearTimeout(timer);
  controls.forEach((control) => control.removeEventListener("input", again));
  field("form").removeEventListener("submit", hold);
  if (!accepted) return null;
  const days = Number(field("expires").value);
  const { scope, strength } = asked(item);
  return { scope, strength, expires: days ? Math.floor(Date.now() / 1000) + days * DAY : null, note: field("note").value };
}
