// The request of the planner's form, checked field by field.

const positive = { rule: "must be a number above 0", holds: (x) => x > 0 };
const count = {
  rule: "must be a whole number, 1 or more", holds: (x) => Number.isInteger(x) && x >= 1,
};
const share = { rule: "must be 0, or below 1, such as 1e-6", holds: (x) => x >= 0 && x < 1 };
const real = { rule: "must be a number", holds: Number.isFinite };

const RULES = {
  half_life: ["Half-life", positive],
  power: ["Power", positive],
  length: ["Length", count],
  epsilon: ["Epsilon", positive],
  delta: ["Delta", share],
  steps: ["Records of one person", count],
  apart: ["Steps between them", count],
  low: ["Lowest value", real],
  high: ["Highest value", real],
  numerator: ["Largest numerator", positive],
  denominator: ["Largest denominator", positive],
  most: ["Largest ratio", positive],
};
const BOUNDED = ["sum", "mean", "variance", "quantiles"]; // records have a lowest and highest value

const PARAMETER = { exponential: "half_life", power: "power", window: "length", counting: null };

/**
 * The question as the service wants it, and what is wrong, by field. `texts` are the form's
 * entries: every field's text by its name.
 */
export function question(texts) {
  const wrong = {};
  const read = (name) => {
    const [title, { rule, holds }] = RULES[name];
    const x = parsed(texts[name]);
    if (!(Number.isFinite(x) && holds(x))) wrong[name] = `${title} ${rule}.`;
    return x;
  };
  const decay = { kind: texts.kind };
  const parameter = PARAMETER[texts.kind];
  if (parameter) decay[parameter] = read(parameter);
  const asked = {
    decay,
    epsilon: read("epsilon"), delta: read("delta"), horizon: null,
    neighbours: texts.neighbours,
    protects: "record", method: texts.method,
    statistic: statistic(texts, read, wrong),
  };
  if (texts.law) asked.law = texts.law;
  if (BOUNDED.includes(texts.statistic)) {
    asked.low = read("low");
    asked.high = read("high");
  }
  if (texts.whole && texts.statistic === "sum") asked.resolution = 1;
  const steps = read("steps");
  if (steps > 1) asked.protects = { steps, apart: read("apart") };
  if (texts.horizon.trim() !== "") {
    asked.horizon = parsed(texts.horizon);
    if (!count.holds(asked.horizon)) wrong.horizon = `Horizon ${count.rule}, or empty.`;
  }
  if ("low" in asked && !wrong.low && !wrong.high && !(asked.low < asked.high)) {
    wrong.high = "Highest value must be above lowest value.";
  }
  return { asked, wrong };
}

/** What is released, with its own parameters. */
function statistic(texts, read, wrong) {
  const kind = texts.statistic;
  const found = { kind };
  if (kind === "share" && texts.of.trim() !== "") found.of = texts.of.trim();
  if (kind === "ratio") {
    for (const name of ["numerator", "denominator", "most"]) found[name] = read(name);
  }
  if (kind === "histogram") {
    found.edges = rising(texts.edges);
    if (!(found.edges?.length >= 3)) wrong.edges = "Edges must be at least three rising numbers.";
  }
  if (kind === "quantiles") {
    found.quantiles = rising(texts.quantiles);
    if (!found.quantiles?.every((x) => x > 0 && x < 1)) {
      wrong.quantiles = "Quantiles must be rising numbers between 0 and 1.";
    }
    if (texts.expected.trim() !== "") {
      found.expect = parsed(texts.expected);
      if (!positive.holds(found.expect)) wrong.expected = `Expected records ${positive.rule}.`;
    }
  }
  return found;
}

/** The numbers of a list with commas or spaces, or null if they do not rise. */
function rising(text) {
  const numbers = text.split(/[,;\s]+/).filter(Boolean).map(parsed);
  const rises = numbers.every((x, at) => Number.isFinite(x) && (at === 0 || x > numbers[at - 1]));
  return rises && numbers.length ? numbers : null;
}

/** The number in a text field, or NaN. */
function parsed(text) {
  const trimmed = text.trim().replace("\u2212", "-");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : Number.NaN;
}
