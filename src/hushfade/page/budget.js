// A dataset's budget as a bar and in words.

import { element } from "./dom.js";
import { number, plain } from "./format.js";

/** How much of a budget is used, from 0 to 1: budgets add up by the squares of mu. */
export function used(account) {
  return account.mu > 0 ? Math.min(1, (account.spent / account.mu) ** 2) : 1;
}

/** The bar and its words. */
export function budget(account) {
  const share = Math.round(100 * used(account));
  const text = `mu ${number(account.spent, 3)} of ${number(account.mu, 3)} spent`;
  const fill = element("span", { class: "fill" });
  fill.style.width = `${share}%`;
  const left = account.left_epsilon > 0
    ? `mu ${number(account.left, 3)} left (epsilon ${number(account.left_epsilon, 3)})`
    : "none left";
  return element(
    "div", { class: "budget" },
    element("p", { class: "budget-words" },
      element("strong", {}, text),
      ` · whole budget epsilon ${plain(account.epsilon)} at delta ${plain(account.delta)}`
      + ` · ${left}`),
    element("div", {
      class: share >= 90 ? "bar nearly" : "bar", role: "meter",
      "aria-label": `Budget of dataset ${account.name}`, "aria-valuemin": 0, "aria-valuemax": 100,
      "aria-valuenow": share, "aria-valuetext": `${share} % used: ${text}`,
      title: `${share} % used; budgets add up by the squares of mu`,
    }, fill),
    element("p", { class: "share", "aria-hidden": "true" }, `${share} % used`),
  );
}
