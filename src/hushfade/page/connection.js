// Whether the service answers, shown in the page's head, and the form that asks for a token.

import { hasToken, Refusal, useToken } from "./api.js";
import { byId, say } from "./dom.js";

const WORDS = {
  live: "live", ready: "connected", waiting: "connecting", lost: "no connection",
  closed: "token needed", refused: "not allowed",
};

/** Shows the state: one of the words' names. */
export function show(state) {
  byId("state").dataset.state = state;
  say(byId("state-text"), WORDS[state]);
}

/**
 * Shows what a refusal means for the whole page. Where a token is missing, or is another's than a
 * reader's, it asks for one, and true comes back: all is said.
 */
export function refused(refusal) {
  if (refusal.passing) show("lost");
  else if (refusal.status === 401) {
    return askForToken("The service does not know this token. Was it copied as a whole?");
  } else if (refusal.status === 403) {
    if (hasToken()) return askForToken(refusal.message);
    show("refused");
  }
  return false;
}

function askForToken(wrong) {
  show("closed");
  const form = byId("token");
  if (hasToken()) {
    useToken(null);
    say(byId("token-wrong"), wrong);
  }
  byId("forget").hidden = true;
  if (form.hidden) {
    form.hidden = false;
    byId("token-field").focus();
  }
  return true;
}

/** Makes the token's form work: `again` runs after a token was given or forgotten. */
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
    form.hidden = true;
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
