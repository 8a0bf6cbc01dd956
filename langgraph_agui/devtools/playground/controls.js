// Small buttons with a picture, among them those that copy.

import { make } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const SHOWN_MILLISECONDS = 1500;
const PICTURES = {
  copy: "M6 6V3h7v7h-3M3 6h7v7H3z",
  done: "M3 8.5l3.2 3.2L13 4.5",
  edit: "M3 13l.7-2.8L11 3l2 2-7.2 7.3z",
  again: "M12.6 5.2A5.2 5.2 0 1 0 13.2 9M13 2v3.4H9.6",
};

function picture(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PICTURES[name]);
  svg.append(path);
  return svg;
}

function name(button, label) {
  button.setAttribute("aria-label", label);
  button.title = label;
}

/** A button that shows a picture and is called `label`. */
export function iconButton(kind, label, act) {
  const button = make("button", { type: "button", className: "icon" }, picture(kind));
  name(button, label);
  button.addEventListener("click", act);
  return button;
}

/** A button that copies what `text()` returns, and shows that it did. */
export function copyButton(label, text) {
  const button = iconButton("copy", label, async () => {
    const done = await copy(text());
    button.replaceChildren(picture(done ? "done" : "copy"));
    name(button, done ? "Copied" : "The browser does not allow copying");
    setTimeout(() => {
      button.replaceChildren(picture("copy"));
      name(button, label);
    }, SHOWN_MILLISECONDS);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Copy on a page that is served without TLS to another machine: it has no clipboard. */
function copyBySelection(text) {
  const focused = document.activeElement;
  const box = make("textarea", { value: text, className: "unseen" });
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  focused?.focus();
  return done;
}
