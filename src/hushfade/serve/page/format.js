// Numbers and decays in words.

import { roundedUp, upTo } from "./rounding.js";

const MINUS = "\u2212";

/** A number with this many significant digits, with an exponent if very large or very small. */
export function number(x, digits = 4) {
  if (!Number.isFinite(x)) return "none";
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) {
    return x.toExponential(Math.max(0, digits - 1)).replace(/\.?0+e/, "e").replace("e+", "e")
      .replaceAll("-", MINUS);
  }
  const places = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return fixed(x, Math.min(places, 12), true);
}

/** The same, rounded up: for epsilon, delta, mu and errors. */
export function up(x, digits = 4) {
  return number(roundedUp(x, digits), digits);
}

/** The same, rounded down: for the rest of a budget. */
export function down(x, digits = 4) {
  return number(-roundedUp(-x, digits), digits);
}

/** A number with this many decimal places; `short` omits trailing zeros. */
export function fixed(x, places, short = false) {
  const options = { minimumFractionDigits: short ? 0 : places, maximumFractionDigits: places };
  const text = new Intl.NumberFormat("en-GB", options).format(x).replace("-", MINUS);
  return text === `${MINUS}0` ? "0" : text;
}

/** The number of decimal places that shows a band with two digits. */
export function placesOf(band) {
  if (!(band > 0)) return 2;
  return Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(band))));
}

/** A value and its band, rounded alike: two digits of the band, the value to the same place. */
export function withBand(value, band) {
  const places = placesOf(band);
  return { value: fixed(value, places), band: fixed(upTo(band, places), places) };
}

/** "102 ± 15" */
export function released(value, band) {
  const text = withBand(value, band);
  return `${text.value} ± ${text.band}`;
}

/** Epsilon and delta as people write them, rounded up: 1, 0.5, 1e-6. */
export function plain(x) {
  if (x === 0 || Math.abs(x) >= 1e-3) return up(x, 4);
  return roundedUp(x, 3).toExponential().replace("+", "");
}

/** When a step was closed, in the reader's own time zone. */
export function time(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return "";
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" })
    .format(moment);
}

const DECAYS = [
  [/^Exponential\(half_life=([\d.e+-]+)\)$/, (x) => `halves every ${steps(x)}`],
  [/^PowerLaw\(power=([\d.e+-]+)\)$/, (x) => `fades by a power law, power ${number(+x)}`],
  [/^SlidingWindow\(length=(\d+)\)$/, (x) => `counts the last ${steps(x)}`],
  [/^NoDecay\(\)$/, () => "counts all records, without decay"],
];

/** A decay in words, or in Python for a decay without words. */
export function decay(text) {
  for (const [pattern, words] of DECAYS) {
    const found = pattern.exec(text);
    if (found) return words(found[1]);
  }
  return text;
}

/** "1 record", "2 records" */
export function counted(x, noun) {
  return `${number(x, 9)} ${noun}${x === 1 ? "" : "s"}`;
}

function steps(x) {
  return Number(x) === 1 ? "step" : `${number(Number(x))} steps`;
}
