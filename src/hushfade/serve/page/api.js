// Requests to the service, with the token, and its error messages.

const ROOT = new URL("../v1/", import.meta.url);
const KEPT = "hushfade token";

/** An error response of the service; status 0 means no response. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether the same request may succeed later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Keeps the token for this tab only; null forgets it. */
export function useToken(token) {
  if (token === null) {
    sessionStorage.removeItem(KEPT);
    return;
  }
  // A header may not contain other characters, and fetch would fail as if the service were down.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Refusal(401, "A token consists of plain letters, digits and signs, without spaces.");
  }
  sessionStorage.setItem(KEPT, token);
}

/** Whether this tab has a token. */
export function hasToken() {
  return sessionStorage.getItem(KEPT) !== null;
}

/** The response to a request, if its status is below 400. Throws a Refusal otherwise. */
export async function ask(path, { body, signal, headers = {} } = {}) {
  const token = sessionStorage.getItem(KEPT);
  const sent = { Accept: "application/json", ...headers };
  if (token !== null) sent.Authorization = `Bearer ${token}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(new URL(path, ROOT), {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: sent,
      cache: "no-store",
      redirect: "error", // never send the token to another address
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unanswered();
  }
  if (!response.ok) throw new Refusal(response.status, await reason(response));
  return response;
}

/** The JSON document in the response to a request. */
export async function answer(path, options) {
  const response = await ask(path, options);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw error instanceof SyntaxError
      ? new Refusal(response.status, "The page cannot read the response of the service.")
      : unanswered();
  }
}

/** A part of an address: the name of a stream may contain any characters. */
export function part(name) {
  return encodeURIComponent(name);
}

function unanswered() {
  return new Refusal(0, "The service does not respond. It is stopped, or this machine is offline.");
}

const REASONS = {
  401: "The service requires a token, or does not know this token.",
  403: "This token is not allowed to read.",
  404: "The service has nothing at this address.",
  429: "Too many requests at once.",
  503: "The service is busy or is stopping.",
};

async function reason(response) {
  const known = REASONS[response.status];
  try {
    const said = (await response.json()).error;
    if (typeof said === "string" && said) {
      const sentence = /[.!?]$/.test(said) ? said : `${said}.`;
      return known && response.status !== 404 ? `${known} It says: ${sentence}` : sentence;
    }
  } catch {
    // a response without a message: use the status
  }
  return known ?? `The service answered with status ${response.status}.`;
}
