// The keys of a stream with very many keys: the service searches them, page by page.

import { answer, part, Refusal } from "./api.js";
import { element, say } from "./dom.js";
import { SHOWN } from "./series.js";

const OFFERED = 50; // keys of one page
const TYPED = 300; // milliseconds without typing before a search

let count = 0;

/** Whether a stream has more keys than its description lists, each with one value. */
export function wide(stream) {
  const more = (stream.key_count ?? 0) > (stream.keys?.length ?? 0);
  return more && !stream.statistic?.outputs;
}

/** The chooser of a card, like `Keys`: `changed(chosen)` runs with the names of the chosen keys. */
export class WideKeys {
  #after = [0]; // the first places of this page and of the pages before it
  #following = null;
  #timer = 0;
  #asking = null;

  constructor(stream, chosen, changed) {
    count += 1;
    this.stream = stream;
    this.names = chosen;
    this.changed = changed;
    this.legend = element("ul", { class: "legend", "aria-label": `Latest values of ${stream}` });
    this.note = element("p", { class: "quiet-text", role: "status" });
    this.list = element("div", { class: "boxes", role: "group", "aria-label": "Keys" });
    this.field = element("input", {
      type: "search", id: `wide-${count}`, autocomplete: "off", maxLength: 200,
      oninput: () => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => { this.#after = [0]; this.#load(); }, TYPED);
      },
    });
    this.back = element("button", {
      type: "button", class: "quiet", onclick: () => { this.#after.pop(); this.#load(); },
    }, "Previous keys");
    this.next = element("button", {
      type: "button", class: "quiet",
      onclick: () => { this.#after.push(this.#following); this.#load(); },
    }, "Next keys");
    const chooser = element("details", {
      class: "chooser", ontoggle: () => { if (chooser.open && !this.boxes) this.#load(); },
    }, element("summary", {}, "Choose keys"),
    element("div", { class: "row" },
      element("label", { for: this.field.id },
        "Find ", element("span", { class: "spoken" }, stream)),
      this.field),
    this.note, this.list, element("div", { class: "row" }, this.back, this.next));
    this.node = element("div", { class: "keys" }, this.legend, chooser);
  }

  /** The places of the chosen keys in a release. */
  get lanes() {
    return [...this.names.keys()];
  }

  /** The colours: each chosen key has its own. */
  get ranks() {
    return new Map(this.lanes.map((lane) => [lane, lane]));
  }

  /** Writes the newest value of each chosen key; `text(lane)` gives it. */
  write(text) {
    this.legend.replaceChildren(...this.names.map((name, lane) => element("li", {},
      element("span", { class: "swatch", dataset: { rank: lane } }),
      element("span", { class: "key" }, name),
      element("span", { class: "figure" }, text(lane)))));
  }

  /** Reads the keys of this page. */
  async #load() {
    this.#asking?.abort();
    this.#asking = new AbortController();
    const after = this.#after.at(-1);
    const query = `search=${part(this.field.value.trim())}&after=${after}&limit=${OFFERED}`;
    try {
      const path = `streams/${part(this.stream)}/keys?${query}`;
      const found = await answer(path, { signal: this.#asking.signal });
      this.#following = found.next;
      this.#offer(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refusal)) throw error;
      say(this.note, error.message);
    }
  }

  #offer({ keys, matching }) {
    this.matching = matching;
    this.boxes = keys.map((key) => this.#box(key));
    this.list.replaceChildren(...this.boxes.map((box) => box.parentNode));
    this.back.disabled = this.#after.length === 1;
    this.next.disabled = this.#following === null;
    this.#limit();
  }

  #box(key) {
    const box = element("input", {
      type: "checkbox", checked: this.names.includes(key),
      onchange: () => {
        const others = this.names.filter((name) => name !== key);
        this.names = box.checked ? [...others, key] : others;
        this.#limit();
        this.changed(this.names);
      },
    });
    box.dataset.key = key;
    element("label", {}, box, element("span", {}, key));
    return box;
  }

  #limit() {
    const full = this.names.length >= SHOWN;
    const alone = this.names.length === 1;
    this.boxes.forEach((box) => { box.disabled = box.checked ? alone : full; });
    const most = `The chart shows at most ${SHOWN} keys: remove one to choose another.`;
    say(this.note, `${this.matching} keys match.${full ? ` ${most}` : ""}`);
  }
}
