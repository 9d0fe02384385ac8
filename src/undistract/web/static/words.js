// Text for numbers, items and verdicts.

export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export const count = (many, one, more = `${one}s`) => `${many} ${many === 1 ? one : more}`;

export const rows = (item) => (item.stop - item.start === 1 ? `row ${item.start}` : `rows ${item.start}–${item.stop - 1}`);

export const place = (item) => (item.time ? `${rows(item)}, ${item.time}` : rows(item));

const LABELS = { false_alarm: "false alarm", anomaly: "anomaly", unsure: "unsure", calm: "all normal" };

export const label = (answer) => LABELS[answer] ?? answer;

export const date = (seconds) => new Date(seconds * 1000).toLocaleString();
