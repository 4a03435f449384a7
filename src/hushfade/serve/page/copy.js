// A text with a button that copies it.

import { element, say } from "./dom.js";

const THANKED = 2500; // milliseconds

/** The text under a heading. Without access to the clipboard, the button selects the text. */
export function copyable(heading, text) {
  // Lines break only between words, so that options keep their hyphens.
  const words = text.split(/(\s+)/).map((word, at) => (at % 2 ? word : element("span", {}, word)));
  const code = element("code", {}, ...words);
  const block = element("pre", { tabIndex: 0, role: "region", "aria-label": heading }, code);
  const note = element("span", { class: "quiet-text", role: "status" });
  const button = element("button", {
    type: "button", class: "quiet",
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        say(note, "Copied");
        setTimeout(() => say(note, ""), THANKED);
      } catch { // not a secure context, or not allowed: undefined.writeText throws too
        getSelection().selectAllChildren(code);
        say(note, "Selected: copy it with Ctrl+C or ⌘C");
      }
    },
  }, "Copy", element("span", { class: "spoken" }, ` ${heading}`));
  return element("section", { class: "copyable" },
    element("header", {}, element("h3", {}, heading), note, button), block);
}
