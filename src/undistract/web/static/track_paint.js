// Draw the score track on a canvas, in the colours of the style sheet.

import { number } from "./words.js";

export const PADDING = { left: 48, right: 8, top: 8, bottom: 34 };
const TICKS = 5;

export function paint(canvas, box, view, data, item) {
  const [width, height] = [box.clientWidth, box.clientHeight];
  const scale = devicePixelRatio;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!data) return;
  const style = getComputedStyle(box);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  pen.font = `12px ${style.fontFamily}`;

  // Scores before and after have different units. Scale them to equal thresholds, or else to equal peaks.
  const top = (values) => Math.max(1e-300, ...values.filter((value) => value !== null));
  const ratio = data.before_high && (data.threshold && data.before_threshold
    ? data.threshold / data.before_threshold : top(data.high) / top(data.before_high));
  const before = data.before_high?.map((value) => (value === null ? null : value * ratio));
  const highest = 1.06 * Math.max(top(data.high), before ? top(before) : 0, data.threshold ?? 0);

  const span = view.stop - view.start;
  const inner = { width: width - PADDING.left - PADDING.right, height: height - PADDING.top - PADDING.bottom };
  const x = (row) => PADDING.left + ((row - view.start) / span) * inner.width;
  const y = (value) => PADDING.top + inner.height * (1 - Math.max(0, value) / highest);
  const floor = PADDING.top + inner.height;

  axis(pen, { width, floor, x, y, highest, data, view, ink: colour("faint"), line: colour("line") });
  pen.save();
  pen.beginPath();
  pen.rect(PADDING.left, 0, inner.width, height);
  pen.clip();
  for (const [start, stop, id, answer, alarm] of data.items) {
    const [left, wide] = [x(start), Math.max(3, x(stop) - x(start))];
    if (id === item?.id) {
      pen.fillStyle = colour("shade-strong");
      pen.fillRect(left - 3, 0, wide + 6, floor);
    }
    pen.fillStyle = answer ? colour(answer === "anomaly" ? "bad" : "good") : colour(alarm ? "amber" : "grey");
    pen.fillRect(left, floor + 2, wide, 7);
  }
  if (before) line(pen, data.rows, before, view.stop, x, y, colour("grey"));
  envelope(pen, data, view.stop, x, y, colour("blue"));
  if (data.threshold !== null) {
    pen.strokeStyle = colour("ink");
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(PADDING.left, y(data.threshold));
    pen.lineTo(width, y(data.threshold));
    pen.stroke();
  }
  if (item && item.set === view.set) {
    pen.fillStyle = colour("ink");
    pen.beginPath();
    const at = x(item.peak + 0.5);
    pen.moveTo(at, floor + 10);
    pen.lineTo(at - 5, floor + 17);
    pen.lineTo(at + 5, floor + 17);
    pen.fill();
  }
  pen.restore();
}

function axis(pen, { width, floor, x, y, highest, data, view, ink, line: rule }) {
  pen.fillStyle = ink;
  pen.strokeStyle = rule;
  pen.lineWidth = 1;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const share of [0, 0.5, 1]) {
    const value = (highest / 1.06) * share;
    pen.fillText(number(Number(value.toPrecision(2))), PADDING.left - 6, y(value));
    pen.beginPath();
    pen.moveTo(PADDING.left, y(value));
    pen.lineTo(width - PADDING.right, y(value));
    pen.stroke();
  }
  pen.textBaseline = "bottom";
  for (let tick = 0; tick < TICKS; tick++) {
    const row = Math.round(view.start + ((view.stop - 1 - view.start) * tick) / (TICKS - 1));
    const bucket = data.times ? data.rows.findLastIndex((first) => first <= row) : -1;
    pen.textAlign = tick === 0 ? "left" : tick === TICKS - 1 ? "right" : "center";
    pen.fillText(bucket >= 0 ? data.times[bucket] : String(row), x(row), floor + PADDING.bottom);
  }
}

// A line through the buckets; each has a vertical bar from its lowest to its highest score.
function envelope(pen, data, end, x, y, colour) {
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  let drawn = false;
  data.rows.forEach((row, bucket) => {
    const [low, high] = [data.low[bucket], data.high[bucket]];
    if (high === null) {
      drawn = false;
      return;
    }
    const middle = x((row + (data.rows[bucket + 1] ?? end)) / 2);
    if (drawn) pen.lineTo(middle, y(high));
    else pen.moveTo(middle, y(high));
    if (low !== high && low !== null) {
      pen.lineTo(middle, y(low));
      pen.lineTo(middle, y(high));
    }
    drawn = true;
  });
  pen.stroke();
}

function line(pen, rows, values, end, x, y, colour) {
  envelope(pen, { rows, low: values, high: values }, end, x, y, colour);
}
