// Charts: uPlot with the page's colours, drawn again when size or colours change, and readable
// step by step from the keyboard.

import uPlot from "./vendor/uPlot.esm.js";
import { element, say } from "./dom.js";
import { number } from "./format.js";

const DASHES = [[], [9, 5], [2, 4]]; // by rank, as the swatches of style.css
const FONT = "12px system-ui, sans-serif";
const PAGE = 20; // steps of PageUp and PageDown
const WHOLE = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((x) => [x, 2 * x, 5 * x]);
const HINT = "Point at the chart, or use the arrow keys, to read the value of a step.";

const darkness = matchMedia("(prefers-color-scheme: dark)");

/**
 * A chart below `host`. `lines` are the series after the steps, each with a rank that gives its
 * colour and dashes; one without is the edge of a band and is not seen. `bands` are pairs of series
 * with a rank, `told(index)` the text for a place on the axis, `label` the name of the whole. `log`
 * says that steps are drawn by their logarithm, `zero` that the upright axis begins at 0. `pointed`
 * hears which place is pointed at, or null; `brief` is the text to be seen, where `pointed` shows
 * the rest.
 */
export function chart(host, { label, lines, bands = [], data, told, height = 240, log, zero,
  brief = told, pointed = () => {} }) {
  const area = element("div", { class: "plot", role: "slider", tabIndex: 0, "aria-label": label });
  const readout = element("p", { class: "readout", "aria-hidden": "true" }, HINT);
  host.replaceChildren(area, readout);
  let made = null;
  let at = data[0].length - 1;

  function build() {
    made?.destroy();
    made = null;
    const width = Math.floor(area.clientWidth);
    if (!width || !data[0].length) return;
    made = new uPlot(options(width), data, area);
    made.root.setAttribute("aria-hidden", "true");
  }

  function options(width) {
    const look = getComputedStyle(area);
    const colour = (name) => look.getPropertyValue(name).trim();
    const axis = {
      stroke: colour("--soft"), font: FONT,
      grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false },
    };
    const upright = (u, values) => 14 + 7 * Math.max(2, ...(values ?? []).map((v) => v.length));
    const wash = bands.length > 2 ? "17" : "2b"; // opacity: thinner if many bands overlap
    const seen = (index) => index > 0 && lines[index - 1].rank !== undefined;
    return {
      width, height, padding: [10, 22, 0, 0],
      legend: { show: false },
      cursor: {
        drag: { x: false, y: false }, y: false,
        points: { size: (u, index) => (seen(index) ? 8 : 0) },
      },
      scales: {
        x: { time: false, distr: log ? 3 : 1 },
        y: zero ? { range: (u, low, high) => [0, high > 0 ? 1.1 * high : 1] } : {},
      },
      axes: [
        { ...axis, size: 26, space: 60, incrs: log ? undefined : WHOLE, label: "step",
          labelSize: 16, labelGap: 0, labelFont: FONT, values: (u, splits) => splits.map(whole) },
        { ...axis, size: upright, values: (u, splits) => splits.map((x) => number(x)) },
      ],
      series: [{}, ...lines.map(({ rank }) => (rank === undefined
        ? { stroke: "transparent", width: 0, points: { show: false } }
        : { stroke: colour(`--line-${rank}`), width: 2, pxAlign: 0,
            dash: DASHES[rank % DASHES.length], points: { show: data[0].length < 3, size: 6 } }))],
      bands: bands.map(({ series, rank }) => ({ series, fill: colour(`--line-${rank}`) + wash })),
      hooks: {
        draw: [(u) => (data[0].length === 1 ? whiskers(u, colour) : undefined)],
        setCursor: [(u) => (u.cursor.idx == null ? leave() : point(u.cursor.idx))],
      },
    };
  }

  /** A band at a single step has no area: draw it as a line between its edges. */
  function whiskers(u, colour) {
    const x = u.valToPos(data[0][0], "x", true);
    for (const { series: [high, low], rank } of bands) {
      if (data[high][0] === null) continue; // suppressed
      u.ctx.beginPath();
      u.ctx.moveTo(x, u.valToPos(data[high][0], "y", true));
      u.ctx.lineTo(x, u.valToPos(data[low][0], "y", true));
      u.ctx.strokeStyle = colour(`--line-${rank}`);
      u.ctx.lineWidth = 2 * devicePixelRatio;
      u.ctx.globalAlpha = 0.5;
      u.ctx.stroke();
      u.ctx.globalAlpha = 1;
    }
  }

  function point(index) {
    place(index);
    say(readout, brief(at));
    pointed(at);
  }

  function leave() {
    place(data[0].length - 1);
    say(readout, HINT);
    pointed(null);
  }

  function place(index) {
    at = Math.max(0, Math.min(index, data[0].length - 1));
    area.setAttribute("aria-valuemin", data[0][0]);
    area.setAttribute("aria-valuemax", data[0].at(-1));
    area.setAttribute("aria-valuenow", data[0][at]);
    area.setAttribute("aria-valuetext", told(at));
  }

  area.addEventListener("keydown", (event) => {
    const last = data[0].length - 1;
    const goal = {
      ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1,
      PageUp: at + PAGE, PageDown: at - PAGE, Home: 0, End: last,
    }[event.key];
    if (goal === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(goal, last));
    made?.setCursor({ left: made.valToPos(data[0][index], "x"), top: 0 }, false);
    point(index);
  });

  let width = 0;
  const sizes = new ResizeObserver(() => {
    if (area.clientWidth === width) return;
    width = area.clientWidth;
    if (made && width) made.setSize({ width: Math.floor(width), height });
    else build();
  });
  sizes.observe(area);
  darkness.addEventListener("change", build);
  area.addEventListener("blur", () => {
    made?.setCursor({ left: -10, top: -10 }, false);
    leave();
  });
  place(at);

  return {
    /** Draws new data for the same lines. */
    update(columns) {
      const step = data[0][at];
      const atEnd = at >= data[0].length - 1;
      const sparse = data[0].length < 3;
      data = columns;
      if (!made || sparse) build();
      else made.setData(data);
      place(atEnd ? data[0].length - 1 : data[0].findIndex((x) => x >= step));
    },
    destroy() {
      sizes.disconnect();
      darkness.removeEventListener("change", build);
      made?.destroy();
      host.replaceChildren();
    },
  };
}

function whole(x) {
  return x !== null && Number.isInteger(x) ? number(x, 9) : "";
}
