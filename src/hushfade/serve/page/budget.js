// A dataset's budget as a bar and in words.

import { element } from "./dom.js";
import { plain, up } from "./format.js";

const SQUARES = "The squares of mu add up, so more is left than the difference of the epsilons.";
const SUMS = "The epsilons and the deltas of the streams add up.";

/** How much of a budget's epsilon is spent, from 0 to 1. */
export function used(account) {
  return account.epsilon > 0 ? Math.min(1, account.spent_epsilon / account.epsilon) : 1;
}

/** The bar and its words. */
export function budget(account) {
  const share = Math.ceil(Number((100 * used(account)).toPrecision(12)));
  const text = `epsilon ${up(account.spent_epsilon, 3)} of ${plain(account.epsilon)} spent`;
  const fill = element("span", { class: "fill" });
  fill.style.width = `${share}%`;
  const left = !(account.left_epsilon > 0) ? "none left"
    : account.next_epsilon === null ? "no stream yet"
      : `after another stream like the last: ${up(account.next_epsilon, 3)}`;
  return element(
    "div", { class: "budget" },
    element("p", { class: "budget-words" },
      element("strong", {}, text), ` · ${left} · delta ${plain(account.delta)}`),
    element("div", {
      class: share >= 90 ? "bar nearly" : "bar", role: "meter",
      "aria-label": `Budget of dataset ${account.name}`, "aria-valuemin": 0, "aria-valuemax": 100,
      "aria-valuenow": share, "aria-valuetext": `${share} % spent: ${text}`,
      title: account.composition === "basic" ? SUMS
        : `mu ${up(account.spent, 3)} of ${up(account.mu, 3)} spent. ${SQUARES}`,
    }, fill),
    element("p", { class: "share", "aria-hidden": "true" }, `${share} % spent`),
  );
}
