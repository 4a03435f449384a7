// Histograms: the counts of one step as bars, with their intervals, and a slider over the steps.

import { byId, element, say } from "./dom.js";
import { number } from "./format.js";
import { Series } from "./series.js";
import { laneWords } from "./words.js";

const HEIGHT = 240;
const LETTER = 6.6; // pixels of a letter of a label
const HINT = "Point at a bar to read its count. The slider chooses the step.";
const SVG = byId("drawing").namespaceURI; // scripts contain no address

let made = 0;

/** A histogram below `host`; `series` has the releases, and `chosen` runs when the key changes. */
export class Bars {
  #at = null; // the index of the chosen release; null: the newest

  constructor(host, series, label, chosen) {
    made += 1;
    this.series = series;
    this.label = label;
    this.key = 0;
    this.area = element("div", { class: "plot bars-plot", role: "img" });
    this.readout = element("p", { class: "readout", "aria-hidden": "true" }, HINT);
    const id = `bars-${made}`;
    this.slider = element("input", {
      type: "range", id, min: 0, step: 1, oninput: () => this.#slide(),
    });
    this.shownStep = element("output", { for: id });
    const row = element("div", { class: "row steps" },
      element("label", { for: id }, "Step"), this.slider, this.shownStep);
    host.replaceChildren(this.area, this.readout, row);
    if (series.keys) row.prepend(...this.#chooser(`${id}-key`, chosen));
    this.sizes = new ResizeObserver(() => this.#draw());
    this.sizes.observe(this.area);
    this.update();
  }

  /** The lanes of the bars: the bins of the chosen key. */
  get lanes() {
    const each = this.series.statistic.outputs.length;
    return [...Array(each).keys()].map((bin) => this.key * each + bin);
  }

  /** Draws the newest release, unless the reader has chosen another. */
  update() {
    const last = this.series.releases.length - 1;
    if (this.#at !== null && this.#at >= last) this.#at = null;
    this.slider.max = last;
    this.slider.value = this.#at ?? last;
    this.slider.parentNode.hidden = last < 1 && !this.series.keys;
    this.#draw();
  }

  destroy() {
    this.sizes.disconnect();
  }

  #chooser(id, chosen) {
    const select = element("select", {
      id,
      onchange: () => {
        this.key = select.selectedIndex;
        this.#draw();
        chosen();
      },
    }, ...this.series.keys.map((key) => element("option", {}, key)));
    return [element("label", { for: id }, "Key"), select];
  }

  #slide() {
    const at = Number(this.slider.value);
    this.#at = at === this.series.releases.length - 1 ? null : at;
    this.#draw();
  }

  #draw() {
    const release = this.series.releases.at(this.#at ?? -1);
    const width = Math.floor(this.area.clientWidth);
    if (!release || !width) return;
    const step = `step ${number(release.step, 9)}`;
    say(this.shownStep, step);
    this.slider.setAttribute("aria-valuetext", step);
    const names = this.series.statistic.outputs;
    const bins = this.lanes.map((lane, at) => {
      const [low, high] = Series.interval(release, lane);
      const value = Series.value(release, lane);
      const text = `${names[at]}: ${laneWords(release, lane)}`;
      return { name: names[at], value, low, high, text };
    });
    const said = bins.map((bin) => bin.text).join(", ");
    this.area.setAttribute("aria-label", `${this.label} at ${step}: ${said}`);
    this.area.replaceChildren(drawing(bins, width, (bin) => {
      say(this.readout, bin ? `${step}, ${bin.text}` : HINT);
    }));
  }
}

/** The bars as a picture; `pointed` hears of the bar that is pointed at, or null. */
function drawing(bins, width, pointed) {
  const seen = bins.filter((bin) => bin.value !== null);
  const top = Math.max(1, ...seen.map((bin) => bin.high));
  const bottom = Math.min(0, ...seen.map((bin) => bin.low));
  const ticks = nice(bottom, top);
  const labels = ticks.map((tick) => number(tick));
  const left = 14 + 7 * Math.max(...labels.map((text) => text.length));
  const [above, below, right] = [10, 30, 12];
  const y = (x) => above + (top - x) / (top - bottom) * (HEIGHT - above - below);
  const wide = (width - left - right) / bins.length;
  const picture = svg("svg", { width, height: HEIGHT, "aria-hidden": "true" });
  ticks.forEach((tick, at) => picture.append(
    svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "bars-grid" }),
    svg("text", { x: left - 8, y: y(tick) + 4, class: "bars-number" }, labels[at])));
  const every = Math.max(1, Math.ceil(Math.max(
    ...bins.map((bin) => bin.name.length * LETTER + 8)) / wide));
  bins.forEach((bin, at) => {
    const from = left + at * wide;
    const middle = from + wide / 2;
    const group = svg("g", {});
    group.append(svg("rect", { x: from, y: 0, width: wide, height: HEIGHT, class: "bars-back" }));
    if (bin.value !== null) {
      const [high, low] = [y(Math.max(bin.value, 0)), y(Math.min(bin.value, 0))];
      const gap = Math.min(6, wide / 8);
      const size = { width: Math.max(1, wide - 2 * gap), height: Math.max(1, low - high) };
      const ends = whisker(middle, y(bin.low), y(bin.high), wide);
      group.append(svg("rect", { x: from + gap, y: high, ...size, class: "bars-bar" }),
        svg("path", { d: ends, class: "bars-whisker" }));
    }
    group.addEventListener("pointerenter", () => pointed(bin));
    group.addEventListener("pointerleave", () => pointed(null));
    picture.append(group);
    if (at % every === 0) {
      picture.append(svg("text", { x: middle, y: HEIGHT - 8, class: "bars-name" }, bin.name));
    }
  });
  picture.append(
    svg("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), class: "bars-zero" }));
  return picture;
}

function whisker(x, low, high, wide) {
  const cap = Math.min(6, wide / 6);
  return `M${x} ${low}V${high}M${x - cap} ${high}h${2 * cap}M${x - cap} ${low}h${2 * cap}`;
}

/** Round numbers between `low` and `high`, about four of them. */
export function nice(low, high) {
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((x) => x * power).find((x) => x >= rough);
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return [...Array(count).keys()].map((at) => (first + at) * step);
}

function svg(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
