// Whether the service answers, shown in the page's head, and the form that asks for a token.

import { hasToken, Refusal, useToken } from "./api.js";
import { byId, say } from "./dom.js";

const WORDS = {
  live: "live", ready: "connected", waiting: "connecting", lost: "no connection",
  closed: "token needed",
};

/** Shows the state: live, ready, waiting, lost or closed. */
export function show(state) {
  byId("state").dataset.state = state;
  say(byId("state-text"), WORDS[state]);
}

/** Shows what a refusal means for the whole page; asks for a token where one is missing. */
export function refused(refusal) {
  if (refusal.status === 401) askForToken();
  else if (refusal.passing) show("lost");
}

function askForToken() {
  show("closed");
  const form = byId("token");
  if (hasToken()) {
    useToken(null);
    say(byId("token-wrong"), "The service does not know this token. Was it copied as a whole?");
  }
  byId("forget").hidden = true;
  if (!form.hidden) return;
  form.hidden = false;
  byId("token-field").focus();
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
