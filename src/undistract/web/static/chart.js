// Small line charts and bars, drawn by us.

import { draw, make } from "./dom.js";
import { number } from "./words.js";

const WIDTH = 320;
const HEIGHT = 90;

// One column of a window: as it is, without what distracts, and as it usually goes.
export function lines({ name, values, after, usual }) {
  const all = [values, after ?? [], usual ?? []].flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const step = WIDTH / Math.max(1, values.length - 1);
  const y = (value) => 4 + (HEIGHT - 8) * (1 - (value - low) / (high - low || 1));
  const path = (course) => {
    let pen = "M";
    return (course ?? []).map((value, place) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${(place * step).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      return point;
    }).join("");
  };
  const course = (kind, of) => (of ? [draw("path", { d: path(of), class: `course ${kind}` })] : []);
  const words = `${name}: from ${number(low)} to ${number(high)} in ${values.length} steps`;
  const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words },
    ...course("usual", usual), ...course("after", after), ...course("values", values));
  const range = make("span", { class: "quiet" }, `${number(low)} to ${number(high)}`);
  return make("figure", { class: "lines" }, make("figcaption", {}, make("bdi", {}, name), " ", range), picture);
}

// Features with what they carried, the longest bar for the largest.
export function bars(features, words = "carried") {
  const largest = Math.max(1e-300, ...features.map(({ part }) => Math.abs(part ?? 0)));
  return make("ul", { class: "bars" }, ...features.map(({ name, part }) => {
    const bar = make("span", { class: (part ?? 0) < 0 ? "bar less" : "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * Math.abs(part ?? 0)) / largest}%`;
    return make("li", { title: `${name} ${words} ${number(part)}` },
      make("bdi", { class: "name" }, name), make("span", { class: "amount" }, number(part)), make("span", { class: "rail" }, bar));
  }));
}
