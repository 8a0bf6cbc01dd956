// The page's own tools: the person adds them, the agent calls them, and the person answers the calls.

import { make } from "./dom.js";
import { storedTools, storeTools } from "./store.js";

const EXAMPLE = { type: "object", properties: { color: { type: "string" } }, required: ["color"] };

/** A dialog that edits the page's tools. `changed(tools)` gets all of them, at first those of the last visit. */
export class ToolsDialog {
  #dialog;
  #changed;
  #tools = storedTools();

  constructor(dialog, changed) {
    this.#dialog = dialog;
    this.#changed = changed;
    const form = dialog.querySelector("form");
    form.elements.parameters.value = JSON.stringify(EXAMPLE, null, 2);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add(form);
    });
    dialog.querySelector(".close").addEventListener("click", () => dialog.close());
    this.#draw();
  }

  open() {
    this.#dialog.showModal();
  }

  #add(form) {
    const problem = form.querySelector(".problem");
    try {
      const tool = readTool(form.elements);
      this.#set([...this.#tools.filter(({ name }) => name !== tool.name), tool]);
      form.elements.name.value = form.elements.description.value = problem.textContent = "";
      problem.hidden = true;
      form.elements.name.focus();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  #set(tools) {
    this.#tools = tools;
    storeTools(tools);
    this.#draw();
  }

  #draw() {
    this.#dialog.querySelector("ul").replaceChildren(
      ...this.#tools.map((tool) => {
        const remove = make("button", { type: "button" }, "Remove");
        remove.setAttribute("aria-label", `Remove ${tool.name}`);
        remove.addEventListener("click", () => this.#set(this.#tools.filter((one) => one !== tool)));
        return make("li", {}, make("code", {}, tool.name), make("span", {}, tool.description), remove);
      }),
    );
    this.#changed(this.#tools);
  }
}

/** Return the tool that the form describes. Throws what is wrong with it. */
function readTool({ name, description, parameters }) {
  if (!/^[\w-]{1,64}$/.test(name.value)) throw new Error("The name must have 1 to 64 letters, digits, _ or -.");
  let schema;
  try {
    schema = JSON.parse(parameters.value);
  } catch (error) {
    throw new Error(`The parameters must be JSON: ${error.message}`);
  }
  if (schema?.type !== "object") throw new Error('The parameters must be a JSON Schema with "type": "object".');
  return { name: name.value, description: description.value.trim(), parameters: schema };
}
