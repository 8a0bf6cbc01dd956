// The list of threads: one button to open each, and one to remove it from the list.

import { make } from "./dom.js";
import { storedThreads } from "./store.js";

/** Shows the stored threads of an agent. `actions` are `open(entry)` and `forget(entry)`. */
export class ThreadList {
  #list;
  #actions;
  #shown = "";

  constructor(list, actions) {
    this.#list = list;
    this.#actions = actions;
  }

  /** Show the threads of the agent called `agent`; the one with the id `current` is marked. */
  draw(current, agent) {
    const threads = storedThreads().filter((one) => one.agent === agent);
    const key = JSON.stringify([current, threads.map(({ id, name }) => [id, name])]);
    if (this.#shown === key) return;
    this.#shown = key;
    this.#list.replaceChildren(...threads.map((entry) => this.#row(entry, entry.id === current)));
  }

  #row(entry, isCurrent) {
    const open = make("button", { type: "button", className: "open" }, make("span", {}, entry.name));
    if (isCurrent) open.setAttribute("aria-current", "true");
    open.addEventListener("click", () => this.#actions.open(entry));
    const forget = make("button", { type: "button", className: "forget", title: "Remove from this list" }, "×");
    forget.setAttribute("aria-label", `Remove ${entry.name} from this list`);
    forget.addEventListener("click", () => this.#actions.forget(entry));
    return make("li", {}, open, forget);
  }
}
