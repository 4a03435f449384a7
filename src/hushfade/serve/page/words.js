// Releases in words: the value of a lane with its interval, and the heading of a card.

import { counted, fixed, number, placesOf, released, withBand } from "./format.js";
import { Series } from "./series.js";

/** "102 ± 15" for a sum, "335 (322 to 348)" for a statistic. */
export function laneWords(release, lane) {
  const value = Series.value(release, lane);
  if (value === null) return "suppressed: too few records";
  if (release.margin !== undefined) return released(value, release.margin);
  const { text, from, to } = statisticWords(release, lane);
  return Series.hidden(release, lane) ? "hidden by noise" : `${text} (${from} to ${to})`;
}

/** The value and the ends of its interval, rounded alike: two digits of the interval. */
export function statisticWords(release, lane) {
  const [low, high] = Series.interval(release, lane);
  const places = placesOf((high - low) / 2);
  const [text, from, to] = [Series.value(release, lane), low, high].map((x) => fixed(x, places));
  return { text, from, to };
}

/** The newest value in large letters, and what stands next to it: {value, band}. */
export function heading(series) {
  const { last, names, keys, statistic } = series;
  if (statistic) return statisticHeading(series);
  if (names.length === 1) {
    const text = withBand(Series.value(last, 0), last.margin);
    return { value: text.value, band: ` ± ${text.band} ${names[0]}` };
  }
  const text = withBand(0, last.margin);
  const kind = keys ? "keys" : "coordinates";
  return { value: `${names.length} ${kind}`, band: ` each ± ${text.band}` };
}

function statisticHeading({ last, names, keys, statistic }) {
  if (statistic.name === "histogram" && !keys) {
    const { value, margin } = last.parts.count;
    const text = withBand(value, margin);
    return { value: text.value, band: ` ± ${text.band} records in ${names.length} bins` };
  }
  if (names.length === 1) {
    if (Series.value(last, 0) === null) return { value: "suppressed", band: " too few records" };
    const { text, from, to } = statisticWords(last, 0);
    if (Series.hidden(last, 0)) return { value: "hidden", band: " by noise: too few records" };
    return { value: text, band: ` ${from} to ${to}` };
  }
  if (keys) {
    const each = statistic.output && counted(statistic.outputs.length, statistic.output);
    return { value: counted(keys.length, "key"), band: each ? ` with ${each} each` : "" };
  }
  return { value: counted(names.length, statistic.output), band: "" };
}

/** What the numbers of a card mean: its step, its time, and the noisy count of a statistic. */
export function explained(series, closed) {
  const { last, keys, statistic } = series;
  const when = `step ${number(last.step, 9)}${closed ? `, closed ${closed}` : ""}`;
  if (!statistic) return `${when}; ± is the 95 % confidence interval`;
  const { value, margin } = last.parts.count;
  const count = keys || statistic.name === "histogram" ? ""
    : `; ${released(value, margin)} records, decayed`;
  return `${when}${count}; with 95 % confidence intervals`;
}
