// The page: two views in tabs, and the state of the service.

import { prepareToken, show, turned } from "./connection.js";
import { byId } from "./dom.js";
import { forget, load, prepareLive } from "./live.js";
import { forgetPlan, plan, preparePlanner } from "./planner.js";

const VIEWS = ["live", "planner"];
const tabs = VIEWS.map((name) => byId(`tab-${name}`));
let current = VIEWS[0];
let isPlanned = false;

/** Shows the view in the address. Other addresses, such as the skip link, change nothing. */
function turn() {
  const name = location.hash.slice(1) || VIEWS[0];
  if (VIEWS.includes(name)) current = name;
  VIEWS.forEach((view, at) => {
    const chosen = view === current;
    byId(`view-${view}`).hidden = !chosen;
    tabs[at].setAttribute("aria-selected", String(chosen));
    tabs[at].tabIndex = chosen ? 0 : -1;
  });
  document.title = `${current === "live" ? "Live" : "Planner"} · hushfade`;
  turned(current);
  if (current === "planner" && !isPlanned) {
    isPlanned = true;
    plan();
  }
}

/** Arrow keys, Home and End choose the next, the first and the last tab. */
function key(event) {
  const at = tabs.indexOf(event.currentTarget);
  const goal = {
    ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1, " ": at,
  }[event.key];
  if (goal === undefined) return;
  event.preventDefault();
  const tab = tabs[(goal + tabs.length) % tabs.length];
  location.hash = tab.hash;
  tab.focus();
}

function again() {
  forget();
  forgetPlan();
  show("waiting");
  load();
  isPlanned = current === "planner";
  if (isPlanned) plan();
}

for (const tab of tabs) tab.addEventListener("keydown", key);
addEventListener("hashchange", turn);
prepareToken(again);
preparePlanner();
prepareLive();
turn();
load();
