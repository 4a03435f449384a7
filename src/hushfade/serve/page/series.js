// The last releases of a stream, and their bands.

const KEPT = 500; // steps in the chart
const NUMBERS = 2_000_000; // numbers in memory: with very many keys the chart has fewer steps

/** The largest number of keys in the chart. */
export const SHOWN = 6;

/** The last releases, in order of their steps; `keys` is null for a single sum. */
export class Series {
  constructor(keys) {
    this.keys = keys;
    this.releases = [];
  }

  /** The largest number of steps in memory and in the chart. */
  get kept() {
    return Math.max(1, Math.min(KEPT, Math.floor(NUMBERS / (this.keys?.length || 1))));
  }

  /** The newest release, or undefined. */
  get last() {
    return this.releases.at(-1);
  }

  /** The last step, or 0. */
  get step() {
    return this.last?.step ?? 0;
  }

  /** Adds a release. Returns false, and skips it, if it is not newer than the last release. */
  add(release) {
    if (!(release.step > this.step)) return false;
    this.releases.push(release);
    if (this.releases.length > this.kept) this.releases.shift();
    return true;
  }

  /** The names of the values: keys, coordinates of a vector, or one empty name. */
  get names() {
    if (this.keys) return this.keys;
    const value = this.last?.value;
    return Array.isArray(value) ? value.map((_, at) => `coordinate ${at + 1}`) : [""];
  }

  /** The value of a release in a lane. */
  static value(release, lane) {
    return Array.isArray(release.value) ? release.value[lane] : release.value;
  }

  /** Columns for a chart: the steps, then for each lane its upper edge, lower edge and values. */
  columns(lanes) {
    const columns = [this.releases.map((release) => release.step)];
    for (const lane of lanes) {
      const value = this.releases.map((release) => Series.value(release, lane));
      const band = this.releases.map((release) => release.margin);
      columns.push(value.map((x, at) => x + band[at]), value.map((x, at) => x - band[at]), value);
    }
    return columns;
  }
}
