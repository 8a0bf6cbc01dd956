// The side panels: steps, token usage, shared state, and the log of raw events.

import { make, setText, stickToEnd } from "./dom.js";

const MAX_ROWS = 400;
const COUNTS = [
  ["inputTokens", "in"],
  ["cachedInputTokens", "cached"],
  ["cacheWriteInputTokens", "cache writes"],
  ["outputTokens", "out"],
  ["reasoningTokens", "reasoning"],
  ["totalTokens", "total"],
];

/** Show the steps of the current run as a timeline. */
export function drawSteps(list, thread) {
  const key = JSON.stringify(thread.steps);
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(
    ...thread.steps.map((step) => {
      const owner = step.owner && make("span", { className: "owner", textContent: thread.nameOf(step.owner) });
      const item = make("li", {}, step.name, " ", owner);
      item.dataset.done = String(step.done);
      item.append(make("span", { className: "unseen", textContent: step.done ? " (finished)" : " (running)" }));
      return item;
    }),
  );
}

/** Show what each model of the last run consumed. */
export function drawUsage(box, usage) {
  const key = JSON.stringify(usage);
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(
    ...usage.map((entry) => {
      const counts = COUNTS.filter(([field]) => entry[field] !== undefined);
      const cells = counts.map(([field, label]) => make("div", {}, make("dt", {}, label), make("dd", {}, String(entry[field]))));
      const model = [entry.provider, entry.model].filter(Boolean).join(" / ") || "model";
      return make("div", { className: "usage" }, make("h3", {}, model), make("dl", {}, ...cells));
    }),
  );
}

/** Show the shared state. */
export function drawState(box, state) {
  setText(box, JSON.stringify(state, null, 2));
}

/** A list of the events as they arrived; runs of deltas for the same item share a row. */
export class EventLog {
  #list;
  #counter;
  #stick;
  #count = 0;
  #last = null;

  constructor(list, counter) {
    this.#list = list;
    this.#counter = counter;
    this.#stick = stickToEnd(list);
  }

  clear() {
    this.#list.replaceChildren();
    this.#last = null;
    this.#count = 0;
    setText(this.#counter, "");
  }

  add(event) {
    this.#count += 1;
    setText(this.#counter, String(this.#count));
    const key = event.delta !== undefined && `${event.type} ${event.messageId ?? event.toolCallId ?? ""}`;
    if (!key || this.#last?.key !== key) this.#last = this.#row(event, key);
    this.#last.push(event);
    while (this.#list.children.length > MAX_ROWS) this.#list.firstElementChild.remove();
  }

  /** Keep the newest event in view; to be called after everything else on the page has its size. */
  follow() {
    this.#stick();
  }

  #row(event, key) {
    const events = [];
    const times = make("span", { className: "times" });
    const body = make("pre");
    const details = make("details", {}, make("summary", {}, make("span", {}, event.type), times), body);
    const fill = () => details.open && setText(body, events.map((one) => JSON.stringify(one)).join("\n"));
    details.addEventListener("toggle", fill);
    const item = make("li", {}, details);
    item.dataset.family = event.type.split("_")[0].toLowerCase();
    this.#list.append(item);
    return {
      key,
      push(one) {
        events.push(one);
        setText(times, events.length > 1 ? `×${events.length}` : "");
        fill();
      },
    };
  }
}
