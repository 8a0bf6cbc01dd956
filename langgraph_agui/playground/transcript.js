// The conversation as the page shows it: one element per message, tool call and notice, updated in place.

import { contentText, growText, make, pretty, setText } from "./dom.js";
import { plain } from "./thread.js";

/** Draws a thread into a container and keeps it up to date. */
export class Transcript {
  #container;
  #shown = new Map();

  constructor(container) {
    this.#container = container;
  }

  /** Forget everything shown. */
  clear() {
    for (const { element } of this.#shown.values()) element.remove();
    this.#shown.clear();
  }

  /** Show `thread` as it is now. */
  draw(thread) {
    const box = this.#container;
    const items = listItems(thread);
    const wanted = new Set(items.map((item) => item.key));
    for (const [key, { element }] of this.#shown) {
      if (wanted.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let previous = null;
    for (const item of items) {
      const shown = this.#shown.get(item.key) ?? item.create();
      this.#shown.set(item.key, shown);
      shown.update(item);
      const place = previous ? previous.nextSibling : box.querySelector(":scope > .item");
      if (place !== shown.element) box.insertBefore(shown.element, place);
      previous = shown.element;
    }
    box.setAttribute("aria-busy", String(thread.running));
  }
}

/** List what there is to show, in order. */
function listItems(thread) {
  const results = new Map();
  for (const message of thread.messages) if (message.role === "tool") results.set(message.toolCallId, message);
  const items = [];
  const ids = new Set(thread.messages.map((message) => message.id));
  const calls = new Set();
  const addNotices = (test) => {
    for (const notice of thread.notices) {
      if (test(notice)) items.push({ key: `notice ${notice.id}`, create: noticeItem, notice });
    }
  };
  for (const message of thread.messages) {
    const key = `message ${message.id}`;
    const owner = thread.subagents.get(message.subagentRunId) ?? message.subagentRunId;
    const streaming = thread.open.has(message.id);
    if (message.role === "reasoning") {
      items.push({ key, create: reasoningItem, message, owner, streaming, span: thread.thinking.get(message.id) });
    } else if (message.role === "activity") {
      items.push({ key, create: activityItem, message, owner });
    } else if (message.role !== "tool" && (streaming || contentText(message.content) !== "")) {
      items.push({ key, create: textItem, message, owner, streaming });
    }
    for (const call of message.toolCalls ?? []) {
      calls.add(call.id);
      const result = results.get(call.id);
      items.push({ key: `call ${call.id}`, create: toolItem, call, result, owner, state: callState(thread, call, result) });
    }
    if (message.role === "tool" && !calls.has(message.toolCallId)) {
      const call = { function: { name: "tool result", arguments: "" } };
      items.push({ key, create: toolItem, call, result: message, owner, state: callState(thread, call, message) });
    }
    addNotices((notice) => notice.after === message.id);
  }
  addNotices((notice) => !ids.has(notice.after));
  return items;
}

function callState(thread, call, result) {
  if (result) return failed(result) ? "failed" : "done";
  if (thread.open.has(call.id)) return "writing";
  if (!thread.running && thread.interrupts.some(({ toolCallId = call.id }) => toolCallId === call.id)) return "waiting";
  return thread.running ? "running" : "unanswered";
}

function failed(result) {
  const { status } = result.metadata ?? {};
  return result.error !== undefined || status === "error";
}

function ownerTag(tag, owner) {
  setText(tag, owner ?? "");
  tag.hidden = owner === undefined;
}

function textItem() {
  const body = make("div", { className: "body" });
  const who = make("span", { className: "owner" });
  const element = make("article", { className: "item text" }, who, body);
  return {
    element,
    update({ message, owner, streaming }) {
      element.dataset.role = message.role;
      element.setAttribute("aria-label", message.role === "user" ? "You" : message.role);
      element.classList.toggle("streaming", streaming);
      growText(body, contentText(message.content));
      ownerTag(who, owner);
    },
  };
}

function reasoningItem() {
  const label = make("span");
  const who = make("span", { className: "owner" });
  const body = make("div", { className: "body" });
  const summary = make("summary", {}, label, who);
  const element = make("details", { className: "item reasoning" }, summary, body);
  let touched = false;
  let wasStreaming = null;
  summary.addEventListener("click", () => (touched = true));
  return {
    element,
    update({ message, owner, streaming, span }) {
      growText(body, message.content);
      if (streaming !== wasStreaming && !touched) element.open = streaming;
      wasStreaming = streaming;
      element.classList.toggle("streaming", streaming);
      setText(label, reasoningLabel(message, streaming, span));
      ownerTag(who, owner);
    },
  };
}

function reasoningLabel(message, streaming, span) {
  if (streaming) return "Thinking…";
  if (message.content === "") return "Thought (not shown by the provider)";
  const seconds = span?.end ? (span.end - span.start) / 1000 : 0;
  return seconds >= 0.1 ? `Thought for ${seconds.toFixed(1)} s` : "Thought";
}

const CALL_LABELS = {
  writing: "writing arguments",
  running: "running",
  waiting: "waiting for you",
  done: "done",
  failed: "failed",
  unanswered: "no result",
};

function toolItem() {
  const name = make("code", { className: "name" });
  const who = make("span", { className: "owner" });
  const state = make("span", { className: "pill" });
  const args = make("pre", { className: "arguments" });
  const result = make("pre", { className: "result" });
  const resultPart = make("div", {}, make("h3", { textContent: "Result" }), result);
  const argsPart = make("div", {}, make("h3", { textContent: "Arguments" }), args);
  const summary = make("summary", {}, name, who, state);
  const element = make("details", { className: "item tool", open: true }, summary, argsPart, resultPart);
  return {
    element,
    update(item) {
      setText(name, item.call.function.name);
      element.dataset.state = item.state;
      setText(state, CALL_LABELS[item.state]);
      const text = item.call.function.arguments;
      setText(args, item.state === "writing" ? text : pretty(text));
      argsPart.hidden = text === "";
      const outcome = item.result && (contentText(item.result.content) || item.result.error || "(empty)");
      setText(result, outcome === undefined ? "" : pretty(outcome));
      resultPart.hidden = outcome === undefined;
      ownerTag(who, item.owner);
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
