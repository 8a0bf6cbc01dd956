// The editor of the shared state: a form for the whole state or for one key of it, as JSON.

import { labelled, make, setText } from "./dom.js";

const NOTE =
  "The next run sends the state. You may change the keys in the list. " +
  "To clear a key, give it an empty value; a key that is left out stays as it is.";

/** Calls `edit(state)` with the state that the person wants. */
export class StateEditor {
  element = make("div", { className: "st-editor", hidden: true });
  #edit;
  #id;
  #state = {};
  #schema;
  #writable;
  #button = make("button", { type: "button", textContent: "Edit state" });
  #form = make("form", { hidden: true });
  #key = make("select");
  #box = make("textarea", { rows: 8, spellcheck: false });
  #problem = make("p", { className: "st-problem", id: "st-problem", hidden: true });
  #saved = make("p", { className: "st-note" });

  constructor(edit) {
    this.#edit = edit;
    const cancel = make("button", { type: "button", textContent: "Cancel" });
    const save = make("button", { type: "submit", className: "primary", textContent: "Save" });
    this.#problem.setAttribute("role", "alert");
    this.#saved.setAttribute("role", "status");
    this.#box.setAttribute("aria-describedby", "st-problem");
    this.#form.append(
      labelled("What to edit", this.#key),
      labelled("JSON", this.#box),
      this.#problem,
      make("p", { className: "st-note" }, NOTE),
      make("div", { className: "st-buttons" }, save, cancel),
    );
    this.element.append(this.#button, this.#saved, this.#form);
    this.#button.addEventListener("click", () => this.#open());
    this.#key.addEventListener("change", () => this.#fill());
    cancel.addEventListener("click", () => this.#close());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  /** Offer editing if the agent of `thread` lets clients write to its state and no run goes on. */
  draw({ id, state, capabilities, running }) {
    // Changes that were begun for another thread must not be saved in this one.
    if (this.#id !== id) [this.#form.hidden, this.#button.hidden] = [true, false];
    this.#id = id;
    if (running) setText(this.#saved, "");
    this.#state = state;
    this.#schema = capabilities?.custom?.stateSchema;
    this.#writable = capabilities?.custom?.writableState;
    this.element.hidden = !capabilities?.state || this.#writable?.length === 0;
    this.#button.disabled = running;
  }

  #open() {
    const held = Object.keys(this.#state ?? {});
    const keys = this.#writable ?? [...new Set([...held, ...Object.keys(this.#schema?.properties ?? {})])];
    this.#key.replaceChildren(new Option("Whole state", ""), ...keys.map((key) => new Option(key, `/${key}`)));
    this.#form.hidden = false;
    this.#button.hidden = true;
    setText(this.#saved, "");
    this.#fill();
    this.#box.focus();
  }

  #close() {
    this.#form.hidden = true;
    this.#button.hidden = false;
    this.#button.focus();
  }

  #fill() {
    const key = this.#key.value;
    const value = key ? this.#state?.[key.slice(1)] : this.#state;
    this.#box.value = value === undefined ? "" : JSON.stringify(value, null, 2);
    this.#complain("");
  }

  #save() {
    const key = this.#key.value.slice(1);
    let value;
    try {
      value = JSON.parse(this.#box.value);
    } catch (error) {
      this.#complain(`Expected JSON, such as {"key": "text", "list": [1, 2]}. ${error.message}`);
      return;
    }
    const problem = this.#key.value ? misfit(this.#schema, key, value) : misfitOfAll(this.#schema, value);
    if (problem) {
      this.#complain(problem);
      return;
    }
    this.#edit(this.#key.value ? { ...this.#state, [key]: value } : value);
    this.#close();
    setText(this.#saved, "The next run sends the changed state.");
  }

  #complain(text) {
    setText(this.#problem, text);
    this.#problem.hidden = text === "";
    this.#box.setAttribute("aria-invalid", String(text !== ""));
    if (text) this.#box.focus();
  }
}

const NOUNS = {
  object: "an object",
  array: "a list",
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  null: "null",
};

function typeOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function misfitOfAll(schema, value) {
  const type = typeOf(value);
  if (type !== "object") return `Expected an object for the whole state, such as {"key": "value"}, not ${NOUNS[type]}.`;
  return Object.entries(value).map(([key, part]) => misfit(schema, key, part)).find(Boolean);
}

/** Return the fault in the type of a key's value, if the agent's schema names it; the agent checks the rest. */
function misfit(schema, key, value) {
  const expected = [schema?.properties?.[key]?.type ?? []].flat();
  const type = typeOf(value);
  const fits = (one) => one === type || (one === "integer" && Number.isInteger(value));
  if (expected.length === 0 || expected.some(fits)) return undefined;
  return `Expected ${expected.map((one) => NOUNS[one]).join(" or ")} for "${key}", not ${NOUNS[type]}.`;
}
