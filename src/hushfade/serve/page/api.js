// Questions to the service, with the token, and its refusals in words.

const ROOT = new URL("../v1/", import.meta.url);
const KEPT = "hushfade token";

/** What the service refused, or that it did not answer: status 0. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether the same question may be answered later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Keeps the token for this tab alone; null forgets it. */
export function useToken(token) {
  if (token === null) {
    sessionStorage.removeItem(KEPT);
    return;
  }
  // A header may not hold other characters, and fetch would fail as if nobody had answered.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Refusal(401, "A token is made of plain letters, digits and signs, without spaces.");
  }
  sessionStorage.setItem(KEPT, token);
}

/** Whether this tab has a token. */
export function hasToken() {
  return sessionStorage.getItem(KEPT) !== null;
}

/** The response to a question, of a status below 400. Anything else is thrown as a Refusal. */
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
      redirect: "error", // a token goes nowhere else
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unanswered();
  }
  if (!response.ok) throw new Refusal(response.status, await reason(response));
  return response;
}

/** The answer to a question, read as JSON. */
export async function answer(path, options) {
  const response = await ask(path, options);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw error instanceof SyntaxError
      ? new Refusal(response.status, "The service's answer cannot be read.") : unanswered();
  }
}

/** A part of an address: a stream's name may hold any letters. */
export function part(name) {
  return encodeURIComponent(name);
}

function unanswered() {
  return new Refusal(0, "The service does not answer. It has stopped, or this machine is offline.");
}

const REASONS = {
  401: "The service asks for a token, or does not know this one.",
  403: "The service does not let this token read.",
  404: "There is no such thing here.",
  429: "Too many questions at once.",
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
    // an answer without words: the status says what is known
  }
  return known ?? `The service answered with status ${response.status}.`;
}
