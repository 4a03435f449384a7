// The planner's result: an example, the error by step, other mechanisms, and code to copy.

import { chart } from "./chart.js";
import { copyable } from "./copy.js";
import { element, say } from "./dom.js";
import { fixed, number, placesOf } from "./format.js";
import { upTo } from "./rounding.js";

const LONGEST = 4; // times the plan's error: longer bars are cut, and marked

/** A function that shows an answer in `place`, and the next one in the same place. */
export function planned(place) {
  const head = element("div", { class: "card" });
  const plot = element("div", { class: "plot-place" });
  const others = element("div", { class: "card" });
  const texts = element("div", { class: "card" });
  const unit = element("p", { class: "quiet-text" });
  let drawn = null;
  place.replaceChildren(head, element("div", { class: "card" },
    element("h2", {}, "Error by step"),
    unit, plot), others, texts);
  return function view(found) {
    head.replaceChildren(...sentences(found));
    say(unit, `Standard deviation of the error${found.statistic
      ? ` of each of the ${found.statistic.lanes} noisy sums, in records. `
      : ", in the unit of the records. "}It depends only on the plan, never on data.`);
    drawn?.destroy();
    drawn = curve(plot, found.curve);
    others.replaceChildren(element("h2", {}, "Other mechanisms, same guarantee"),
      element("p", { class: "quiet-text" },
        "The largest error of each mechanism, relative to this plan. Longer bars mean more error."),
      alternatives(found.alternatives));
    texts.replaceChildren(element("h2", {}, "Use this plan"),
      copyable("Python", found.code),
      ...(found.command === null ? [] : [copyable("Command", found.command)]),
      element("p", { class: "quiet-text" }, found.command === null
        ? "Files have no true and false, so no command makes this plan: use Python. "
        : "The command saves the plan in plan.json. ", "To start a stream of this service, send "
        + "the plan with POST /v1/streams as the field \"plan\". "
        + "docs/how-to/operate.md shows the commands."));
  };
}

/** "A true sum of 100 is published as 85 to 115", with only meaningful digits. */
export function shownText(shown) {
  const places = placesOf((shown.high - shown.low) / 2);
  return {
    before: `A true sum of ${number(shown.true)} is published as `,
    numbers: `${fixed(-upTo(-shown.low, places), places)} to `
      + `${fixed(upTo(shown.high, places), places)}`,
  };
}

function sentences(found) {
  return [
    element("h2", { class: "spoken" }, "Example"),
    ...(found.statistic ? statisticExample(found) : sumExample(found)),
    element("p", { class: "guarantee" }, found.guarantee),
    element("p", { class: "over-time quiet-text" }, found.over_time),
    element("p", { class: "mechanism" }, found.choice),
    ...(found.mu === null ? [] : [element("p", { class: "quiet-text" },
      `Gaussian differential privacy: mu = ${number(found.mu, 4)}.`)]),
    element("p", { class: "optimum" }, found.optimum),
  ];
}

function sumExample(found) {
  const shown = shownText(found.shown);
  return [
    element("p", { class: "shown" }, shown.before, element("strong", {}, shown.numbers)),
    element("p", { class: "quiet-text" },
      `95 times in 100, at step ${number(found.step, 9)}; `
      + `standard deviation ${number(found.stddev)}.`),
  ];
}

function statisticExample({ statistic, step, stddev }) {
  return [
    element("p", { class: "shown" }, statistic.accuracy),
    element("p", { class: "quiet-text" },
      `Predicted for step ${number(step, 9)}. Released: ${statistic.released}, from `
      + `${statistic.lanes} noisy sums with standard deviation ${number(stddev)} each, in records. `
      + `Records: ${statistic.records}.`),
  ];
}

function curve(plot, { step, stddev }) {
  return chart(plot, {
    label: "Standard deviation by step", lines: [{ rank: 0 }], data: [step, stddev], zero: true,
    log: step.at(-1) / step[0] >= 50,
    told: (index) => `step ${number(step[index], 9)}: standard deviation ${number(stddev[index])}`,
  });
}

/** "1.7 times", "the same". */
export function times(ratio) {
  const text = ratio < 2 ? fixed(ratio, 2, true) : number(ratio, 2);
  return text === "1" ? "the same" : `${text} times`;
}

function alternatives(listed) {
  if (!listed.length) {
    return element("p", {}, "No other known mechanism gives this guarantee.");
  }
  const rows = [{ name: "this plan", ratio: 1, own: true }, ...listed];
  rows.sort((a, b) => a.ratio - b.ratio);
  const longest = Math.min(LONGEST, Math.max(...rows.map((row) => row.ratio)));
  return element("ul", { class: "bars" }, ...rows.map(({ name, ratio, own, largest }) => {
    const fill = element("span", { class: ratio > longest ? "fill cut" : "fill" });
    fill.style.width = `${100 * Math.min(1, ratio / longest)}%`;
    return element("li", { class: own ? "own" : "", title: own ? "" : `error ${number(largest)}` },
      element("span", { class: "name" }, `${name}: `,
        element("strong", {}, own ? "1" : times(ratio))),
      element("span", { class: "bar", "aria-hidden": "true" }, fill));
  }));
}
