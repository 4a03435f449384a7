// The state of the connection, shown at the top of the page, and the form for a token.

import { hasToken, Refusal, useToken } from "./api.js";
import { byId, say } from "./dom.js";

const WORDS = {
  live: "live", ready: "connected", waiting: "connecting", lost: "no connection",
  slow: "slowed down", closed: "token needed", refused: "not allowed",
};

const ALL = "all";
let current = ""; // the visible view
let closed = null; // the view that needs a token, or all of them

/** Shows the state: one of the words' names. */
export function show(state) {
  byId("state").dataset.state = state;
  say(byId("state-text"), WORDS[state]);
}

/**
 * Shows what a refusal means for the whole page, or for one view of it. Where a token is missing,
 * or is another's than a reader's, it asks for one, and true comes back: all is said.
 */
export function refused(refusal, view = ALL) {
  if (refusal.passing) show(refusal.status === 429 ? "slow" : "lost");
  else if (refusal.status === 401) {
    return askForToken(view, "The service does not know this token. Did you copy all of it?");
  } else if (refusal.status === 403) {
    if (hasToken()) return askForToken(view, refusal.message);
    show("refused");
  }
  return false;
}

/** Sets the visible view: if reading is public, only the planner may need a token. */
export function turned(view) {
  current = view;
  byId("token").hidden = closed !== ALL && closed !== current;
}

function askForToken(view, wrong) {
  if (closed !== ALL) closed = view;
  if (view === ALL) show("closed");
  const form = byId("token");
  if (hasToken()) {
    useToken(null);
    say(byId("token-wrong"), wrong);
  }
  byId("forget").hidden = true;
  const asked = !form.hidden;
  turned(current);
  if (!asked && !form.hidden) byId("token-field").focus();
  return true;
}

/** Sets up the form for the token: `again` runs after the token has changed. */
export function prepareToken(again) {
  const [form, field, wrong, forget] = ["token", "token-field", "token-wrong", "forget"].map(byId);
  forget.hidden = !hasToken();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      useToken(field.value.trim());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      say(wrong, error.message);
      return;
    }
    field.value = "";
    say(wrong, "");
    closed = null;
    turned(current);
    forget.hidden = false;
    byId("content").focus();
    again();
  });
  forget.addEventListener("click", () => {
    useToken(null);
    forget.hidden = true;
    again();
  });
}
