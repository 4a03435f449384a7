// New releases as server-sent events, read with fetch, because fetch can send a token.

import { ask, part, Refusal } from "./api.js";

const FIRST_WAIT = 1000; // milliseconds before the first retry; doubled up to LAST_WAIT
const LAST_WAIT = 30000;

/**
 * The events in a text that arrives in pieces: feed each piece, get the events that it ends.
 * An event is {id, event, data}; comments and unknown fields are left out.
 */
export function reader() {
  let rest = "";
  let open = { data: [] };
  let last = "";
  return function feed(piece) {
    const found = [];
    rest += piece;
    // A carriage return at the end may be half of a line break: wait for the next character.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (open.data.length) {
          found.push({ id: last, event: open.event ?? "message", data: open.data.join("\n") });
        }
        open = { data: [] };
        continue;
      }
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (field === "data") open.data.push(value);
      else if (field === "event") open.event = value;
      else if (field === "id") last = value;
    }
    return found;
  };
}

/**
 * Follows a stream from the step after `after()`: each release goes to `take`, and `tell` hears
 * null when the connection stands and a Refusal when it does not. After a loss it comes back by
 * itself, and asks for what it missed. True comes back when the stream has ended, false when it
 * cannot be followed or the signal is aborted.
 */
export async function follow(name, { after, take, tell, signal, query = "" }) {
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    try {
      const ended = await once(name, {
        after, signal, tell, query,
        take(release) {
          wait = FIRST_WAIT;
          take(release);
        },
      });
      if (ended) return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof Refusal)) throw error;
      tell(error);
      if (!error.passing) return false;
    }
    await pause(wait, signal);
    wait = Math.min(2 * wait, LAST_WAIT);
  }
  return false;
}

async function once(name, { after, take, tell, signal, query }) {
  const headers = { Accept: "text/event-stream", "Last-Event-ID": String(after()) };
  const response = await ask(`streams/${part(name)}/events${query}`, { headers, signal });
  tell(null);
  const feed = reader();
  const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await pieces.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Refusal(0, "The connection to the service was lost.");
    });
    if (done) return false; // the service closed the connection in order: reconnect
    for (const event of feed(value)) {
      if (event.event === "release") take(JSON.parse(event.data));
      else if (event.event === "end") return true;
    }
  }
}

/** Waits this number of milliseconds, or until the signal is aborted. */
export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
