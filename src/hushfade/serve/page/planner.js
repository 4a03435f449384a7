// The planner: a form that requests a plan from the service after every change.

import { answer, Refusal } from "./api.js";
import { refused, show } from "./connection.js";
import { alarm, byId, element, say } from "./dom.js";
import { number } from "./format.js";
import { planned } from "./planned.js";
import { question } from "./question.js";

const SETTLED = 350; // milliseconds without a change before a request

let timer = 0;
let asking = null;
let view = null;

/** Sets up the form. It sends no request before `plan` runs for the first time. */
export function preparePlanner() {
  const form = byId("question");
  form.addEventListener("submit", (event) => { event.preventDefault(); plan(); });
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(plan, SETTLED);
    arrange(form);
  });
  arrange(form);
}

/** Requests the plan that the form describes, and shows it. */
export async function plan() {
  clearTimeout(timer);
  asking?.abort();
  const { asked, wrong } = question(entries());
  mark(wrong);
  if (Object.keys(wrong).length) {
    byId("answer").classList.add("old");
    return;
  }
  asking = new AbortController();
  const { signal } = asking;
  const place = byId("answer");
  place.setAttribute("aria-busy", "true");
  try {
    const found = await answer("plan", { body: asked, signal });
    alarm(byId("planner-alert"), null);
    if (byId("state").dataset.state !== "live") show("ready");
    view ??= planned(place);
    view(found);
    place.classList.remove("old");
    say(byId("planner-status"), `${found.guarantee} Error ${number(found.stddev, 3)}.`);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refusal)) throw error;
    place.classList.add("old");
    alarm(byId("planner-alert"), refused(error, "planner") ? null : error.message,
      error.passing ? plan : undefined);
  } finally {
    if (!signal.aborted) place.setAttribute("aria-busy", "false");
  }
}

/** Clears the result: another token may not be allowed to plan. */
export function forgetPlan() {
  asking?.abort();
  view = null;
  byId("answer").replaceChildren();
  alarm(byId("planner-alert"), null);
}

function entries() {
  return Object.fromEntries(new FormData(byId("question")));
}

function arrange(form) {
  const { kind, steps, statistic } = entries();
  for (const field of form.querySelectorAll("[data-for]")) {
    field.hidden = field.dataset.for !== kind;
  }
  for (const field of form.querySelectorAll("[data-statistic]")) {
    field.hidden = !field.dataset.statistic.split(" ").includes(statistic);
  }
  byId("apart-field").hidden = !(Number(steps) > 1);
}

/** Shows the error below each field, where screen readers find it too. */
function mark(wrong) {
  for (const input of byId("question").querySelectorAll("input:not([type=radio])")) {
    const message = wrong[input.name];
    const id = `${input.id}-wrong`;
    if (!message) {
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-describedby");
      byId(id)?.remove();
      continue;
    }
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", id);
    if (!byId(id)) input.after(element("p", { class: "wrong", id, role: "alert" }));
    say(byId(id), message);
  }
}
