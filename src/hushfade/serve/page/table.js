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
  const band = release.margin;
  const places = placesOf(band) + 1; // one more than in the text, for copying
  const cells = [];
  for (const lane of lanes) {
    const value = Series.value(release, lane);
    for (const x of [value, value - band, value + band]) {
      cells.push(element("td", {}, fixed(x, places)));
    }
  }
  const closed = release.closed ? time(release.closed) : "";
  return element("tr", {},
    element("th", { scope: "row" }, String(release.step)), element("td", {}, closed), ...cells);
}
