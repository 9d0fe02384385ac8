// Small line charts and bars.

import { draw, make } from "./dom.js";
import { number } from "./words.js";

const WIDTH = 320;
const HEIGHT = 90;

// One column of a window: the original values, the cleaned ones, and the typical ones of the group.
export function lines({ name, values, after, usual }) {
  const all = [values, after ?? [], usual ?? []].flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const step = WIDTH / Math.max(1, values.length - 1);
  const y = (value) => 4 + (HEIGHT - 8) * (1 - (value - low) / (high - low || 1));
  const path = (series) => {
    let pen = "M";
    return series.map((value, index) => {
      if (value === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${(index * step).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      return point;
    }).join("");
  };
  const line = (kind, series) => (series ? [draw("path", { d: path(series), class: `course ${kind}` })] : []);
  const description = `${name}: from ${number(low)} to ${number(high)} in ${values.length} steps`;
  const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": description },
    ...line("usual", usual), ...line("after", after), ...line("values", values));
  const range = make("span", { class: "quiet" }, `${number(low)} to ${number(high)}`);
  return make("figure", { class: "lines" }, make("figcaption", {}, make("bdi", {}, name), " ", range), picture);
}

// One bar per feature; the longest bar is the largest contribution.
export function bars(features, verb = "contributed") {
  const largest = Math.max(1e-300, ...features.map(({ part }) => Math.abs(part ?? 0)));
  return make("ul", { class: "bars" }, ...features.map(({ name, part }) => {
    const bar = make("span", { class: (part ?? 0) < 0 ? "bar less" : "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * Math.abs(part ?? 0)) / largest}%`;
    return make("li", { title: `${name} ${verb} ${number(part)}` },
      make("bdi", { class: "name" }, name), make("span", { class: "amount" }, number(part)), make("span", { class: "rail" }, bar));
  }));
}
