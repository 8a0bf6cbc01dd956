// The headers that the person has for requests to the agent. This tab keeps them.

import { button, make } from "./dom.js";
import { storedHeaders, storeHeaders } from "./store.js";

/** A dialog that edits the headers. `opener` opens it and counts them; `changed()` is called when they are saved. */
export class HeadersDialog {
  #dialog;
  #opener;
  #rows;
  #problem;

  constructor(dialog, opener, changed) {
    this.#dialog = dialog;
    this.#opener = opener;
    this.#rows = dialog.querySelector("ul");
    this.#problem = dialog.querySelector(".problem");
    opener.addEventListener("click", () => this.open());
    dialog.querySelector(".add").addEventListener("click", () => this.#add("", "").focus());
    dialog.querySelector(".close").addEventListener("click", () => dialog.close());
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#save()) changed();
    });
    this.#count();
  }

  open() {
    const headers = storedHeaders();
    this.#rows.replaceChildren();
    this.#complain("");
    for (const [name, value] of headers.length > 0 ? headers : [["Authorization", ""]]) this.#add(name, value);
    this.#dialog.showModal();
    this.#rows.querySelector("li:last-child [name=value]").focus();
  }

  /** Add a row, and return the box for its name. */
  #add(name, value) {
    const box = (label, field, text) => {
      const input = make("input", { name: field, value: text, autocomplete: "off", spellcheck: false });
      input.setAttribute("aria-label", label);
      return input;
    };
    const names = box("Header", "name", name);
    const remove = button("×", () => row.remove());
    remove.setAttribute("aria-label", "Remove this header");
    const row = make("li", {}, names, box("Value", "value", value), remove);
    this.#rows.append(row);
    return names;
  }

  /** Keep what the rows say, unless it cannot be sent. Return whether it was kept. */
  #save() {
    const rows = [...this.#rows.children].map((row) => [...row.querySelectorAll("input")]);
    const headers = rows.map((boxes) => boxes.map(({ value }) => value.trim())).filter(([, value]) => value !== "");
    const problem = headers.map(problemOf).find(Boolean);
    if (problem) {
      this.#complain(problem);
      return false;
    }
    storeHeaders(headers);
    this.#count();
    this.#dialog.close();
    return true;
  }

  #complain(text) {
    this.#problem.textContent = text;
    this.#problem.hidden = text === "";
  }

  #count() {
    const { length } = storedHeaders();
    this.#opener.textContent = length > 0 ? `Headers (${length})` : "Headers";
  }
}

/** Return the fault of a header, if it has one. */
function problemOf([name, value]) {
  try {
    const { headers } = new Request(location.href, { headers: [[name, value]] });
    return headers.has(name) ? undefined : `Browsers do not let a page set ${name}.`;
  } catch {
    return `"${name}: ${value}" is not a header. Use letters, digits and hyphens in the name, and Latin characters.`;
  }
}
