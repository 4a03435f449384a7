// The live view: every stream's card, under its dataset and the dataset's budget.

import { answer, Refusal } from "./api.js";
import { budget } from "./budget.js";
import { Card } from "./card.js";
import { refused, show } from "./connection.js";
import { alarm, byId, element, say } from "./dom.js";

const REFRESHED = 5000; // milliseconds between readings of the list of streams
const SPOKEN = 10000; // milliseconds between announcements, at least
// A browser keeps six connections to one server (HTTP/1.1): two are left for requests.
const OPEN = 4;

const cards = new Map(); // by name
const inView = new Set(); // names
let timer = 0;
let reading = null;
let lost = false; // whether the last request had no response

const views = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) inView.add(target.dataset.name);
    else inView.delete(target.dataset.name);
  }
  arrange();
}, { rootMargin: "200px" });

/** Loads the streams again, and follows the streams in view. */
export async function load() {
  clearTimeout(timer);
  reading?.abort();
  reading = new AbortController();
  try {
    const { signal } = reading;
    const [{ streams, clock }, datasets] = await Promise.all([
      answer("streams", { signal }), answer("datasets", { signal }),
    ]);
    alarm(byId("live-alert"), null);
    alarm(byId("clock-alert"), clock ? `No steps close: ${clock}.` : null);
    // An earlier connection may look open but be dead, or wait long before its next retry.
    if (lost) for (const card of cards.values()) card.stop();
    lost = false;
    draw(streams, datasets);
    show([...cards.values()].some((card) => card.live) ? "live" : "ready");
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refusal)) throw error;
    heard(error);
    if (!error.passing) return;
    lost = error.status !== 429; // status 429: the service is up, so open connections stay open
  } finally {
    byId("streams").setAttribute("aria-busy", "false");
  }
  timer = setTimeout(load, REFRESHED);
}

/** Clears the view: another token may see other streams. */
export function forget() {
  for (const card of cards.values()) card.stop();
  cards.clear();
  inView.clear();
  views.disconnect();
  byId("streams").replaceChildren();
  alarm(byId("live-alert"), null);
  alarm(byId("clock-alert"), null);
}

/** Pauses while the page is hidden: a hidden page keeps no connection. */
export function prepareLive() {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      load();
      return;
    }
    clearTimeout(timer);
    for (const card of cards.values()) card.stop();
  });
  // A service on this machine responds without a network too: send a request to find out.
  for (const change of ["online", "offline"]) addEventListener(change, load);
}

/** Loads everything at once: streams that wait for a retry start again. */
function retry() {
  for (const card of cards.values()) card.stop();
  load();
}

function heard(refusal) {
  if (refusal === null) {
    show("live");
    alarm(byId("live-alert"), null);
    return;
  }
  const after = refusal.passing
    ? " The values below may be old. The page keeps trying to connect." : "";
  alarm(byId("live-alert"), refused(refusal) ? null : refusal.message + after, retry);
  if (!cards.size) byId("streams").replaceChildren();
}

function draw(streams, datasets) {
  const names = new Set(streams.map((stream) => stream.name));
  for (const [name, card] of cards) {
    if (!names.has(name)) {
      card.stop();
      views.unobserve(card.node);
      inView.delete(name);
      cards.delete(name);
    }
  }
  for (const stream of streams) {
    const card = cards.get(stream.name);
    if (card) card.refresh(stream);
    else cards.set(stream.name, added(stream));
  }
  byId("announce-choice").hidden = !streams.length;
  const place = byId("streams");
  if (!datasets.length && !streams.length) place.replaceChildren(nothing());
  else sections(place, streams, datasets);
  arrange();
}

function added(stream) {
  const card = new Card(stream, { heard, spoken });
  card.node.dataset.name = stream.name;
  views.observe(card.node);
  return card;
}

/** Leaves cards in the right place untouched: a moved element loses the focus. */
function sections(place, streams, datasets) {
  const standing = new Map([...place.querySelectorAll("section")].map((s) => [s.dataset.name, s]));
  const wanted = datasets.map((account) => {
    const section = standing.get(account.name) ?? empty(account.name);
    section.querySelector(".budget-place").replaceChildren(budget(account));
    const own = streams.filter((stream) => stream.dataset === account.name);
    const grid = section.querySelector(".grid");
    const nodes = own.map((stream) => cards.get(stream.name).node);
    if (!own.length) nodes.push(element("p", { class: "quiet-text" }, "No streams yet."));
    settle(grid, nodes);
    return section;
  });
  settle(place, wanted);
}

function settle(place, nodes) {
  const same = nodes.length === place.children.length
    && nodes.every((node, at) => node === place.children[at]);
  if (!same) place.replaceChildren(...nodes);
}

function empty(name) {
  const properties = { class: "dataset", dataset: { name }, "aria-label": `Dataset ${name}` };
  return element("section", properties,
    element("header", { class: "dataset-head" },
      element("h2", {}, element("span", { class: "kind" }, "dataset "), name),
      element("div", { class: "budget-place" })),
    element("div", { class: "grid" }));
}

function nothing() {
  return element("div", { class: "card nothing" },
    element("h2", {}, "No releases yet"),
    element("p", {}, "A stream starts with a plan. ",
      element("a", { href: "#planner" }, "Make a plan in the planner"),
      ", then create a dataset and a stream with POST /v1/datasets and POST /v1/streams."));
}

/** Gives open connections to the first cards in view; other cards in view send requests. */
function arrange() {
  if (document.hidden) return;
  let free = OPEN;
  for (const [name, card] of cards) {
    const seen = inView.has(name);
    if (!seen) card.stop();
    else if (!card.stream.ended) free -= 1;
    if (seen && !card.following) card.start(free >= 0);
  }
}

const unsaid = new Map();
let nextWord = 0;
let speaking = 0;

/** Announces the newest release of each stream, rarely, so that users can continue to read. */
function spoken(name, text) {
  unsaid.set(name, text);
  if (speaking) return;
  speaking = setTimeout(() => {
    speaking = 0;
    nextWord = Date.now() + SPOKEN;
    if (byId("announce").checked) say(byId("announcer"), [...unsaid.values()].join(". "));
    unsaid.clear();
  }, Math.max(0, nextWord - Date.now()));
}
