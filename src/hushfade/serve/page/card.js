// A stream's card: its latest release, chart, table, guarantee.

import { answer, part, Refusal } from "./api.js";
import { Bars } from "./bars.js";
import { chart } from "./chart.js";
import { alarm, element, say } from "./dom.js";
import { follow, pause } from "./events.js";
import { counted, decay, number, plain, time, up } from "./format.js";
import { Keys } from "./keys.js";
import { Series, SHOWN } from "./series.js";
import { table } from "./table.js";
import { WideKeys, wide } from "./wide-keys.js";
import { explained, heading, laneWords } from "./words.js";

const POLLED = 5000; // milliseconds between requests without an open connection

let count = 0;

/** The joint guarantee of a stream as a sentence; empty without a joint charge. */
function together(joint) {
  if (!joint) return "";
  return `Charged as one guarantee for ${joint.streams.join(", ")}: epsilon `
    + `${up(joint.epsilon)} at delta ${plain(joint.delta)} together. `;
}

/** The distance of a stream from the clock in words; empty if it is on time. */
function away(lag) {
  if (lag > 1) return `${counted(lag, "step")} behind the clock.`;
  if (lag < -1) return `${counted(-lag, "step")} ahead of the clock: it waits for the clock.`;
  return "";
}

/** One stream. `heard(refusal or null)` hears of its connection, `spoken(name, text)` of news. */
export class Card {
  #following = null;
  #drawing = false;
  #answered = false;

  constructor(stream, { heard, spoken }) {
    this.stream = stream;
    this.heard = heard;
    this.spoken = spoken;
    this.chosen = wide(stream) ? stream.keys.slice(0, SHOWN) : null; // of a stream with many keys
    this.series = new Series(this.chosen ?? stream.keys, stream.statistic);
    this.#build();
    this.refresh(stream);
  }

  #build() {
    count += 1;
    const { name } = this.stream;
    const id = `stream-${count}`;
    this.title = element("h3", { id: `${id}-title` }, name);
    this.badge = element("span", { class: "badge" }, "ended");
    this.decay = element("p", { class: "decay" });
    this.latest = element("p", { class: "latest" });
    this.when = element("p", { class: "quiet-text when" });
    this.clock = element("p", { class: "clock", hidden: true });
    this.plot = element("div", { class: "plot-place" });
    this.alert = element("div", { class: "alert", role: "alert" });
    this.extra = element("div", { class: "keys-place" });
    this.guarantee = element("p", { class: "guarantee" });
    this.limits = element("p", { class: "limits quiet-text" });
    this.secret = element("p", { class: "secret", hidden: true });
    this.rows = element("div", {
      class: "rows", id: `${id}-rows`, role: "region", tabIndex: 0, hidden: true,
      "aria-label": `Releases of ${name} as a table`,
    });
    this.turned = element("span", {}, "Show as table");
    this.toggle = element("button", {
      type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": this.rows.id,
      onclick: () => this.#turn(),
    }, this.turned, element("span", { class: "spoken" }, ` ${name}`));
    this.node = element("article", { class: "card stream", "aria-labelledby": this.title.id },
      element("div", { class: "card-head" }, this.title, this.badge), this.decay,
      this.latest, this.when, this.clock, this.alert, this.plot, this.extra,
      element("div", { class: "card-foot" }, this.toggle), this.rows, this.guarantee,
      this.limits, this.secret);
  }

  /** Updates the card from the list of streams. */
  refresh(stream) {
    if (stream.ended && !this.stream.ended) this.stop(); // after a restart it reads the rest
    this.stream = stream;
    this.badge.hidden = !stream.ended;
    const every = !stream.every ? ""
      : stream.every === "by hand" ? ", steps closed by hand" : `, one step every ${stream.every}`;
    const what = stream.statistic ? `${stream.statistic.released} · ` : "";
    say(this.decay, `${what}${decay(stream.decay)}${every}`);
    this.decay.title = stream.decay;
    say(this.guarantee, stream.guarantee);
    say(this.limits, `${together(stream.together)}${stream.limits}`);
    say(this.clock, away(stream.lag ?? 0));
    this.clock.hidden = !this.clock.textContent;
    const secret = stream.not_for_publication;
    this.secret.hidden = !secret;
    if (secret) {
      this.secret.replaceChildren(element("strong", {}, "Not for publication: "),
        `${counted(secret.late, "late record")}, ${counted(secret.repeated, "repeated record")}, `
        + (secret.over_limit === undefined ? ""
          : `${counted(secret.over_limit, "record")} beyond a person's limits, `)
        + `${number(secret.open_records, 9)} in the open step.`);
    }
    this.toggle.hidden = !this.series.last;
    if (!this.series.last) say(this.latest, stream.step ? "…" : "No release yet.");
  }

  /** Follows the stream: with an open connection if `open`, else by a request every few seconds. */
  start(open) {
    if (this.#following) return;
    this.#following = new AbortController();
    this.#run(open, this.#following.signal).catch((error) => {
      if (error.name === "AbortError") return;
      this.#following = null;
      if (!(error instanceof Refusal)) throw error;
      this.#hear(error);
    });
  }

  /** Stops following the stream. The card keeps its content. */
  stop() {
    this.#following?.abort();
    this.#following = null;
  }

  /** Whether the last request for releases succeeded. */
  get live() {
    return this.following && !this.stream.ended && this.#answered;
  }

  /** Whether the card follows its stream. */
  get following() {
    return this.#following !== null;
  }

  async #run(open, signal) {
    await this.#catchUp(signal);
    if (this.stream.ended) return;
    if (open) {
      const ended = await follow(this.stream.name, {
        signal,
        query: this.#query("?"),
        after: () => this.series.step,
        take: (release) => this.#take([release]),
        tell: (refusal) => this.#hear(refusal),
      });
      if (ended) this.refresh({ ...this.stream, ended });
    }
    while (!open && !signal.aborted) {
      await pause(POLLED, signal);
      if (!signal.aborted) await this.#catchUp(signal);
    }
  }

  async #catchUp(signal) {
    const { name, step } = this.stream;
    const { kept } = this.series;
    const after = Math.max(this.series.step, step - kept);
    const path = `streams/${part(name)}/releases?after=${after}&limit=${kept}${this.#query("&")}`;
    const found = await answer(path, { signal });
    if (after > this.series.step) {
      this.series = new Series(found.keys, this.stream.statistic);
      if (this.bars) this.bars.series = this.series;
    }
    this.#hear(null);
    this.#take(found.releases);
  }

  /** The chosen keys of a stream with many keys, as a part of an address. */
  #query(mark) {
    if (!this.chosen) return "";
    return mark + this.chosen.map((key) => `key=${part(key)}`).join("&");
  }

  /** Shows other keys of a stream with many keys: reads them, and follows them. */
  #select(chosen) {
    const { following } = this;
    this.stop();
    this.chosen = chosen;
    this.series = new Series(chosen, this.stream.statistic);
    this.chart?.destroy();
    this.chart = null;
    if (following) this.start(true);
  }

  #hear(refusal) {
    this.#answered = refusal === null;
    const own = refusal && !refusal.passing && refusal.status !== 401;
    alarm(this.alert, own ? refusal.message : null);
    if (!own) this.heard(refusal);
  }

  #take(releases) {
    const fresh = releases.filter((release) => this.series.add(release));
    if (!fresh.length) return;
    // Releases may arrive by the hundred: draw the card once for all of them.
    if (!this.#drawing) requestAnimationFrame(() => { this.#drawing = false; this.#draw(); });
    this.#drawing = true;
    const { name } = this.stream;
    this.spoken(name, `${name}, ${this.#told(this.series.releases.length - 1)}`);
  }

  #draw() {
    this.toggle.hidden = false;
    const { value, band } = heading(this.series);
    const shown = this.chosen ? `${number(this.stream.key_count, 9)} keys` : value;
    this.latest.replaceChildren(element("span", { class: "value" }, shown),
      element("span", { class: "band" }, band));
    const { closed } = this.series.last;
    say(this.when, explained(this.series, closed ? time(closed) : ""));
    if (this.series.statistic?.name === "histogram") this.#drawBars();
    else this.#drawLines();
    if (!this.rows.hidden) this.#fill();
  }

  #drawBars() {
    if (this.bars) this.bars.update();
    else {
      const label = `Histogram of ${this.stream.name}`;
      this.bars = new Bars(this.plot, this.series, label, () => this.#fill());
    }
  }

  #drawLines() {
    this.keys ??= this.#choose(this.series.names);
    this.#list(null);
    if (this.chart) this.chart.update(this.series.columns(this.keys.lanes));
    else this.#chart();
  }

  #choose(names) {
    if (this.chosen) {
      const keys = new WideKeys(this.stream.name, this.chosen, (chosen) => this.#select(chosen));
      this.extra.replaceChildren(keys.node);
      return keys;
    }
    const noun = this.stream.statistic?.outputs ? "lines" : "keys";
    this.extra.classList.toggle("wide", Boolean(this.stream.statistic));
    const keys = new Keys(names, this.stream.name, () => { this.#chart(); this.#draw(); }, noun);
    this.extra.replaceChildren(keys.node);
    return keys;
  }

  #chart() {
    const { lanes, ranks } = this.keys;
    this.chart?.destroy();
    this.chart = chart(this.plot, {
      label: `Releases of ${this.stream.name} by step`,
      lines: lanes.flatMap((lane) => [{}, {}, { rank: ranks.get(lane) }]),
      bands: lanes.map((lane, at) => ({ series: [3 * at + 1, 3 * at + 2], rank: ranks.get(lane) })),
      data: this.series.columns(lanes),
      told: (index) => this.#told(index),
      brief: (index) => this.#told(index, this.series.names.length > 1 ? [] : lanes),
      pointed: (index) => this.#list(index),
    });
  }

  /** Lists the keys' values at a place of the chart, or the newest. */
  #list(index) {
    const release = index === null ? this.series.last : this.series.releases[index];
    this.keys.write((lane) => laneWords(release, lane));
  }

  /** A release in words; without lanes its step alone. */
  #told(index, lanes = this.bars?.lanes ?? this.keys?.lanes ?? [0]) {
    const release = this.series.releases[index];
    const { names } = this.series;
    const parts = lanes.map((lane) => {
      const text = laneWords(release, lane);
      return names[lane] ? `${names[lane]} ${text}` : text;
    });
    return `step ${number(release.step, 9)}${parts.length ? ": " : ""}${parts.join(", ")}`;
  }

  #turn() {
    this.rows.hidden = !this.rows.hidden;
    const open = !this.rows.hidden;
    this.toggle.setAttribute("aria-expanded", String(open));
    say(this.turned, open ? "Hide the table" : "Show as table");
    if (open) this.#fill();
    else this.rows.replaceChildren();
  }

  #fill() {
    const lanes = this.bars?.lanes ?? this.keys?.lanes;
    if (!lanes || this.rows.hidden) return;
    const kept = counted(this.series.releases.length, "release");
    const caption = `${this.stream.name}: the last ${kept}, `
      + "with the bounds of the 95 % interval";
    const top = this.rows.scrollTop;
    this.rows.replaceChildren(table(this.series, lanes, caption));
    this.rows.scrollTop = top;
  }
}
