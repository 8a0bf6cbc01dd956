// Mathematics of answers: TeX as MathML, which the browser draws.

import { make } from "./dom.js";

const SOURCE = /^(\$\$?|\\\(|\\\[)([\s\S]*?)(\$\$?|\\\)|\\\])$/;
const MAX_CHARACTERS = 5000;
// TeX could give an element the id of one of the page.
const OUTSIDE = ["id", "href"];
const OPTIONS = { throwOnError: true, trust: false, maxExpand: 1000, maxSize: [20, 50] };

let temml;

/** Load what makes MathML; until then, and if it cannot be had, mathematics is shown as it is written. */
export async function loadMath() {
  temml ??= (await import("./vendor/temml.js")).default;
}

/** Return an element that shows `source`, TeX between its delimiters; TeX that is wrong is shown as it is written. */
export function mathElement(source) {
  const [, mark, tex] = SOURCE.exec(source) ?? [];
  const displayMode = mark === "$$" || mark === "\\[";
  const element = make("span", { className: displayMode ? "math display" : "math" });
  if (displayMode) element.tabIndex = 0; // a wide one scrolls, also by keyboard
  try {
    if (!temml || tex.length > MAX_CHARACTERS) throw new Error("as it is written");
    temml.render(tex, element, { ...OPTIONS, displayMode, wrap: displayMode ? "none" : "tex" });
  } catch {
    return make("span", { className: "math" }, source);
  }
  for (const name of OUTSIDE) for (const one of element.querySelectorAll(`[${name}]`)) one.removeAttribute(name);
  return element;
}
