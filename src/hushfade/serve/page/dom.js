// Elements without markup: text stays text, so no response can inject markup into the page.

/** The element with this id in index.html. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * A new element. Properties that begin with "on" listen, `class` and those with a hyphen are
 * attributes, `dataset` is one by one, the rest are set as properties. Children are nodes or texts.
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(made.dataset, value);
    else if (name === "class" || name === "role" || name === "for" || name.includes("-")) {
      made.setAttribute(name, value);
    } else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** Sets the text only if it differs: a live region would speak the same words again. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows an error message with a button to try again, or nothing without a message. */
export function alarm(node, message, retry) {
  if (!message) {
    node.replaceChildren();
    return;
  }
  if (node.firstChild?.textContent === message) return;
  const children = [element("p", {}, message)];
  if (retry) children.push(element("button", { type: "button", onclick: retry }, "Try again"));
  node.replaceChildren(...children);
}
