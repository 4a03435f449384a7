// The last releases of a stream, and their bands.

const KEPT = 500; // steps in the chart
const NUMBERS = 2_000_000; // numbers in memory: with very many keys the chart has fewer steps

/** The largest number of keys in the chart. */
export const SHOWN = 6;

/**
 * The last releases, in order of their steps; `keys` is null for a single sum, and `statistic` for
 * sums. A lane is a key, or with bins or quantiles one of them for each key, in this order.
 */
export class Series {
  constructor(keys, statistic = null) {
    this.keys = keys;
    this.statistic = statistic;
    this.releases = [];
  }

  /** The largest number of steps in memory and in the chart. */
  get kept() {
    const lanes = (this.keys?.length || 1) * (this.statistic?.outputs?.length || 1);
    return Math.max(1, Math.min(KEPT, Math.floor(NUMBERS / lanes)));
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

  /** The names of the values: keys, bins, quantiles, coordinates of a vector, or an empty name. */
  get names() {
    const { outputs, output } = this.statistic ?? {};
    if (outputs) {
      const labels = outputs.map((name) => (output === "quantile" ? `quantile ${name}` : name));
      return this.keys ? this.keys.flatMap((key) => labels.map((x) => `${key}, ${x}`)) : labels;
    }
    if (this.keys) return this.keys;
    const value = this.last?.value;
    return Array.isArray(value) ? value.map((_, at) => `coordinate ${at + 1}`) : [""];
  }

  /** The value of a release in a lane; null if it is suppressed. */
  static value(release, lane) {
    return inLane(release.value, lane);
  }

  /** The ends of its 95 % interval: [low, high]. */
  static interval(release, lane) {
    const value = Series.value(release, lane);
    if (release.margin !== undefined) return [value - release.margin, value + release.margin];
    return [inLane(release.lower, lane), inLane(release.upper, lane)];
  }

  /** Whether that interval is the whole range of a statistic: the noise hides the value. */
  static hidden(release, lane) {
    return release.whole_range !== undefined && inLane(release.whole_range, lane) === true;
  }

  /** Columns for a chart: the steps, then for each lane its upper edge, lower edge and values. */
  columns(lanes) {
    const columns = [this.releases.map((release) => release.step)];
    for (const lane of lanes) {
      const ends = this.releases.map((release) => Series.interval(release, lane));
      // where the noise hides the value, the band alone is drawn
      columns.push(ends.map(([, high]) => high), ends.map(([low]) => low),
        this.releases.map((release) => (
          Series.hidden(release, lane) ? null : Series.value(release, lane))));
    }
    return columns;
  }
}

/** The number of a lane: of one number, of one per key, or of several for each key. */
function inLane(numbers, lane) {
  if (!Array.isArray(numbers)) return numbers;
  if (!Array.isArray(numbers[0])) return numbers[lane];
  const each = numbers[0].length;
  return numbers[Math.floor(lane / each)][lane % each];
}
