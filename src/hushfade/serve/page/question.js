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
};

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
    low: read("low"), high: read("high"), neighbours: texts.neighbours,
    protects: "record", method: texts.method,
  };
  if (texts.law) asked.law = texts.law;
  if (texts.whole) asked.resolution = 1;
  const steps = read("steps");
  if (steps > 1) asked.protects = { steps, apart: read("apart") };
  if (texts.horizon.trim() !== "") {
    asked.horizon = parsed(texts.horizon);
    if (!count.holds(asked.horizon)) wrong.horizon = `Horizon ${count.rule}, or empty.`;
  }
  if (!wrong.low && !wrong.high && !(asked.low < asked.high)) {
    wrong.high = "Highest value must be above lowest value.";
  }
  return { asked, wrong };
}

/** The number in a text field, or NaN. */
function parsed(text) {
  const trimmed = text.trim().replace("\u2212", "-");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : Number.NaN;
}
