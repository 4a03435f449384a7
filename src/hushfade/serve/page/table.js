// The numbers of a chart as a table, newest first.

import { element } from "./dom.js";
import { fixed, placesOf, time } from "./format.js";
import { Series } from "./series.js";

/** A table of the lanes' values with the bounds of their 95 % intervals. */
export function table(series, lanes, caption) {
  const heads = ["step", "closed"];
  for (const lane of lanes) {
    const name = series.names[lane];
    heads.push(name || "value", name ? `${name}, low` : "low", name ? `${name}, high` : "high");
  }
  const rows = series.releases.toReversed().map((release) => row(release, lanes));
  const head = heads.map((text) => element("th", { scope: "col" }, text));
  return element("table", {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows));
}

function row(release, lanes) {
  const cells = [];
  for (const lane of lanes) {
    const [low, high] = Series.interval(release, lane);
    const places = placesOf((high - low) / 2) + 1; // one more than in the text, for copying
    for (const x of [Series.value(release, lane), low, high]) {
      cells.push(element("td", {}, x === null ? "suppressed" : fixed(x, places)));
    }
  }
  const closed = release.closed ? time(release.closed) : "";
  return element("tr", {},
    element("th", { scope: "row" }, String(release.step)), element("td", {}, closed), ...cells);
}
