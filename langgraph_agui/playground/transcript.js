// The conversation as the page shows it: one element per message, tool call and notice, updated in place.
//
// `items.js` decides what is shown and where; this file makes the elements.

import { contentText, growText, make, pretty, setText } from "./dom.js";
import { listItems } from "./items.js";
import { plain } from "./thread.js";

/** Draws a thread into a container and keeps it up to date. */
export class Transcript {
  #container;
  #list;

  constructor(container) {
    this.#container = container;
    this.#list = new List(container);
  }

  /** Forget everything shown. */
  clear() {
    this.#list.draw([]);
  }

  /** Show `thread` as it is now. */
  draw(thread) {
    this.#list.draw(listItems(thread));
    this.#container.setAttribute("aria-busy", String(thread.running));
  }
}

/** Keeps the elements of a container in step with a list of items: one for each, in their order. */
class List {
  #box;
  #shown = new Map();

  constructor(box) {
    this.#box = box;
  }

  draw(items) {
    const wanted = new Set(items.map((item) => item.key));
    for (const [key, { element }] of this.#shown) {
      if (wanted.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let previous = null;
    for (const item of items) {
      const shown = this.#shown.get(item.key) ?? CREATE[item.kind]();
      this.#shown.set(item.key, shown);
      shown.update(item);
      shown.element.classList.toggle("beside", item.beside === true);
      const place = previous ? previous.nextSibling : this.#box.querySelector(":scope > .item");
      if (place !== shown.element) this.#box.insertBefore(shown.element, place);
      previous = shown.element;
    }
    this.#box.hidden = items.length === 0 && this.#box.matches(".items");
  }
}

function textItem() {
  const body = make("div", { className: "body" });
  const element = make("article", { className: "item text" }, body);
  return {
    element,
    update({ message, streaming }) {
      element.dataset.role = message.role;
      element.setAttribute("aria-label", message.role === "user" && !message.subagentRunId ? "You" : message.role);
      element.classList.toggle("streaming", streaming);
      growText(body, contentText(message.content));
    },
  };
}

function reasoningItem() {
  const label = make("span");
  const body = make("div", { className: "body" });
  const summary = make("summary", {}, label);
  const element = make("details", { className: "item reasoning" }, summary, body);
  let touched = false;
  let wasStreaming = null;
  summary.addEventListener("click", () => (touched = true));
  return {
    element,
    update({ message, streaming, span }) {
      growText(body, message.content);
      if (streaming !== wasStreaming && !touched) element.open = streaming;
      wasStreaming = streaming;
      element.classList.toggle("streaming", streaming);
      setText(label, reasoningLabel(message, streaming, span));
    },
  };
}

function reasoningLabel(message, streaming, span) {
  if (streaming) return "Thinking…";
  if (message.content === "") return "Thought (not shown by the provider)";
  const seconds = span?.end ? (span.end - span.start) / 1000 : 0;
  return seconds >= 0.1 ? `Thought for ${seconds.toFixed(1)} s` : "Thought";
}

const LABELS = {
  writing: "writing arguments",
  running: "running",
  waiting: "waiting for you",
  done: "done",
  failed: "failed",
  stopped: "stopped",
  unanswered: "no result",
};

/** Show a status, which also styles the head of `element`. */
function setState(element, pill, state) {
  element.dataset.state = state ?? "";
  setText(pill, LABELS[state] ?? plain(state ?? ""));
  pill.hidden = state === undefined;
}

/** A part of a tool call under a heading. `set(text)` shows the text; without text the part is hidden. */
function callPart(title, className) {
  const body = make("pre", { className });
  const head = make("h3", {}, title);
  const element = make("div", { className: "part" }, head, body);
  return {
    element,
    head,
    set(text) {
      element.hidden = text === undefined;
      setText(body, text ?? "");
    },
  };
}

function toolItem() {
  const name = make("code", { className: "name" });
  const state = make("span", { className: "pill" });
  const args = callPart("Arguments", "arguments");
  const output = callPart("Output", "output");
  const outputState = make("span", { className: "pill" });
  output.head.append(" ", outputState);
  const inner = make("div", { className: "items" });
  const inside = new List(inner);
  const result = callPart("Result", "result");
  const summary = make("summary", {}, name, state);
  const parts = [args.element, output.element, inner, result.element];
  const element = make("details", { className: "item tool", open: true }, summary, ...parts);
  return {
    element,
    update(item) {
      setText(name, item.call.function.name);
      setState(element, state, item.state);
      const text = item.call.function.arguments;
      args.set(text === "" ? undefined : item.state === "writing" ? text : pretty(text));
      output.set(item.output && outputText(item.output.output));
      setState(output.element, outputState, item.output?.status);
      inside.draw(item.subagents);
      const outcome = item.result && (contentText(item.result.content) || item.result.error || "(empty)");
      result.set(outcome && pretty(outcome));
    },
  };
}

/** Join the parts of a tool's output: texts as they come, anything else as JSON on a line of its own. */
function outputText(parts) {
  return parts.reduce((text, part) => {
    if (typeof part === "string") return text + part;
    return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${plain(part)}\n`;
  }, "");
}

function subagentItem() {
  const name = make("strong", { className: "name" });
  const task = make("span", { className: "task" });
  const state = make("span", { className: "pill" });
  const inner = make("div", { className: "items" });
  const inside = new List(inner);
  const problem = make("p", { className: "problem" });
  const summary = make("summary", {}, name, task, state);
  const element = make("details", { className: "item subagent", open: true }, summary, inner, problem);
  return {
    element,
    update({ subagent, items }) {
      setText(name, subagent.name);
      setText(task, subagent.description ?? "");
      task.title = subagent.description ?? "";
      name.title = subagent.id;
      setState(element, state, subagent.status);
      inside.draw(items);
      setText(problem, subagent.problem ?? "");
      problem.hidden = subagent.problem === undefined;
    },
  };
}

function activityItem() {
  const kind = make("summary");
  const body = make("pre");
  const element = make("details", { className: "item activity", open: true }, kind, body);
  return {
    element,
    update({ message }) {
      setText(kind, message.activityType);
      setText(body, pretty(plain(message.content)));
    },
  };
}

function noticeItem() {
  const element = make("p", { className: "item notice" });
  return {
    element,
    update(item) {
      element.dataset.kind = item.notice.kind;
      if (item.notice.kind === "error") element.setAttribute("role", "alert");
      setText(element, item.notice.text);
    },
  };
}

const CREATE = {
  text: textItem,
  reasoning: reasoningItem,
  tool: toolItem,
  subagent: subagentItem,
  activity: activityItem,
  notice: noticeItem,
};
