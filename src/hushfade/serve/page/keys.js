// The keys in a chart: at most six, each with its own colour while the chart shows it.

import { element, say } from "./dom.js";
import { SHOWN } from "./series.js";

const SEARCHED = 12; // with at least this many keys there is a search field
const OFFERED = 60; // boxes at once

let count = 0;

/**
 * The chooser of a card: `changed` runs when the choice does. Lanes are indices of `names`, and
 * `noun` is what they are called together.
 */
export class Keys {
  constructor(names, label, changed, noun = "keys") {
    this.names = names;
    this.changed = changed;
    this.noun = noun;
    this.ranks = new Map(names.slice(0, SHOWN).map((_, lane) => [lane, lane]));
    this.legend = element("ul", { class: "legend", "aria-label": `Latest values of ${label}` });
    this.node = element("div", { class: "keys" }, this.legend);
    if (names.length > 1) this.node.append(this.#chooser(label));
  }

  /** The lanes shown, in the order of the keys. */
  get lanes() {
    return [...this.ranks.keys()].sort((a, b) => a - b);
  }

  /** Writes the newest value of each key shown; `text(lane)` gives it. */
  write(text) {
    if (this.names.length === 1) return;
    const { lanes } = this;
    this.legend.replaceChildren(...lanes.map((lane) => element("li", {},
      element("span", { class: "swatch", dataset: { rank: this.ranks.get(lane) } }),
      element("span", { class: "key" }, this.names[lane]),
      element("span", { class: "figure" }, text(lane)))));
  }

  #chooser(label) {
    this.note = element("p", { class: "quiet-text", role: "status" });
    this.list = element("div", { class: "boxes", role: "group", "aria-label": "Keys" });
    const inside = [this.note, this.list];
    this.sought = "";
    if (this.names.length >= SEARCHED) inside.unshift(this.#search(label));
    this.#offer();
    return element("details", { class: "chooser" },
      element("summary", {}, `Choose ${this.noun} (${this.names.length})`), ...inside);
  }

  /** Lists the keys that match the search, at most OFFERED of them. */
  #offer() {
    const fit = [...this.names.keys()].filter((lane) => (
      this.sought ? this.names[lane].toLowerCase().includes(this.sought) : true));
    this.more = Math.max(0, fit.length - OFFERED);
    this.boxes = fit.slice(0, OFFERED).map((lane) => this.#box(this.names[lane], lane));
    this.list.replaceChildren(...this.boxes.map((box) => box.parentNode));
    this.#limit();
  }

  #box(name, lane) {
    const box = element("input", {
      type: "checkbox", checked: this.ranks.has(lane),
      onchange: () => {
        if (box.checked) this.ranks.set(lane, this.#free());
        else this.ranks.delete(lane);
        this.#limit();
        this.changed();
      },
    });
    element("label", {}, box, element("span", {}, name));
    return box;
  }

  #search(label) {
    count += 1;
    const id = `find-${count}`;
    const field = element("input", {
      type: "search", id, autocomplete: "off",
      oninput: () => {
        this.sought = field.value.trim().toLowerCase();
        this.#offer();
      },
    });
    return element("div", { class: "row" },
      element("label", { for: id }, "Find ", element("span", { class: "spoken" }, label)), field);
  }

  #free() {
    const taken = new Set(this.ranks.values());
    return [...Array(SHOWN).keys()].find((rank) => !taken.has(rank));
  }

  #limit() {
    const full = this.ranks.size >= SHOWN;
    const alone = this.ranks.size === 1;
    this.boxes.forEach((box) => { box.disabled = box.checked ? alone : full; });
    const said = [];
    if (full && this.names.length > SHOWN) {
      said.push(`The chart shows at most ${SHOWN} ${this.noun}: remove one to choose another.`);
    }
    if (this.more) said.push(`Search by name to find ${this.more} more ${this.noun}.`);
    say(this.note, said.join(" "));
  }
}
