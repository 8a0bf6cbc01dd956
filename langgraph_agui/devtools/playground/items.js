// Turns a thread into the items that the page shows, in order and as plain data. Each subagent is an item of its own.

import { contentText } from "./dom.js";

const TOOL_OUTPUT = "langgraph:tool_output";
const MEDIA = "langgraph:media";

/** List the items of `thread`. A subagent's item stands in the tool call that runs it, or else among the messages. */
export function listItems(thread) {
  const outline = new Outline(thread);
  const ids = new Set(thread.messages.map((message) => message.id));
  const notices = (test) => {
    for (const notice of thread.notices) {
      const item = { key: `notice ${notice.id}`, kind: "notice", notice, locked: thread.running };
      if (test(notice)) outline.of(undefined).push(item);
    }
  };
  outline.begin(undefined);
  for (const message of thread.messages) {
    outline.add(message);
    outline.begin(message.id);
    notices(({ after }) => after === message.id);
  }
  notices(({ after }) => !ids.has(after));
  return outline.end();
}

/** Collects the items of a thread, and puts each where it belongs. */
class Outline {
  #thread;
  #calls = new Set();
  #results = new Map();
  #outputs = new Map();
  /** Subagent run id, or nothing for the agent itself -> its items. */
  #items = new Map([[undefined, []]]);
  /** Tool call id -> the items of the subagents that it runs. */
  #run = new Map();

  constructor(thread) {
    this.#thread = thread;
    for (const message of thread.messages) {
      for (const { id } of message.toolCalls ?? []) this.#calls.add(id);
      if (message.role === "tool") this.#results.set(message.toolCallId, message);
      if (isOutput(message)) this.#outputs.set(message.content.toolCallId, message);
    }
    // Subagents of a call stand in it in the order in which they started, wherever their messages are.
    for (const { id, call } of thread.subagents.values()) if (this.#calls.has(call)) this.of(id);
  }

  /** Return the items of a subagent, or of the agent itself. Add an item for a subagent that has none yet. */
  of(id) {
    const known = this.#items.get(id);
    if (known) return known;
    const items = [];
    this.#items.set(id, items);
    const subagent = this.#thread.subagents.get(id) ?? { id, name: this.#thread.nameOf(id) };
    const place = this.#calls.has(subagent.call) ? this.#runBy(subagent.call) : this.of(subagent.parent);
    place.push({ key: `subagent ${id}`, kind: "subagent", subagent, items });
    return items;
  }

  /** Add the subagents that started after the message `id`. */
  begin(id) {
    for (const subagent of this.#thread.subagents.values()) if (subagent.after === id) this.of(subagent.id);
  }

  /** Add the items of a message. */
  add(message) {
    const thread = this.#thread;
    const items = this.of(message.subagentRunId);
    const key = `message ${message.id}`;
    const streaming = thread.open.has(message.id);
    if (message.role === "reasoning") {
      items.push({ key, kind: "reasoning", message, streaming, span: thread.thinking.get(message.id) });
    } else if (message.role === "activity" && message.activityType === MEDIA) {
      const parts = message.content?.parts;
      if (Array.isArray(parts) && parts.length > 0) items.push({ key, kind: "media", message });
    } else if (message.role === "activity") {
      const output = this.#outputs.get(message.content?.toolCallId);
      const isShown = output === message && this.#calls.has(message.content.toolCallId);
      if (!isShown) items.push({ key, kind: "activity", message });
    } else if (message.role !== "tool" && (streaming || contentText(message.content) !== "")) {
      items.push({ key, kind: "text", message, streaming, locked: thread.running });
    }
    for (const call of message.toolCalls ?? []) items.push(this.#callItem(call, message.subagentRunId));
    if (message.role === "tool" && !this.#calls.has(message.toolCallId)) {
      const call = { function: { name: "tool result", arguments: "" } };
      const state = failed(message) ? "failed" : "done";
      items.push({ key, kind: "tool", call, result: message, subagents: [], state });
    }
  }

  /** Return the agent's own items, which contain all others. */
  end() {
    for (const items of [...this.#items.values(), ...this.#run.values()]) {
      const holds = (item) => item !== undefined && (item.kind === "subagent" || item.subagents?.length > 0);
      items.forEach((item, at) => (item.beside = holds(item) && (holds(items[at - 1]) || holds(items[at + 1]))));
    }
    for (const items of this.#items.values()) {
      for (const item of items) if (item.kind === "tool") item.state ??= this.#stateOf(item);
    }
    const own = this.#items.get(undefined);
    const texts = own.filter(({ kind }) => kind === "text");
    if (texts.at(-1)?.message.role === "assistant") texts.at(-1).last = true;
    return own;
  }

  #runBy(call) {
    if (!this.#run.has(call)) this.#run.set(call, []);
    return this.#run.get(call);
  }

  #callItem(call, owner) {
    const result = this.#results.get(call.id);
    const output = this.#outputs.get(call.id)?.content;
    const reason = this.#thread.rejected.get(call.id);
    const subagents = this.#runBy(call.id);
    return { key: `call ${call.id}`, kind: "tool", call, result, output, owner, reason, subagents };
  }

  #stateOf({ call, result, output, owner, subagents, reason }) {
    const thread = this.#thread;
    if (reason !== undefined) return "rejected";
    if (result) return failed(result) ? "failed" : "done";
    if (thread.open.has(call.id)) return "writing";
    if (thread.running) return "running";
    if (output?.status === "failed") return "failed";
    const asks = ({ toolCallId, subagentRunId }) => {
      if (this.#calls.has(toolCallId)) return toolCallId === call.id;
      return subagentRunId === owner || !thread.subagents.has(subagentRunId);
    };
    const isAsked = thread.pendingCalls?.some(({ id }) => id === call.id);
    const isInside = subagents.some(({ subagent }) => subagent.status === "waiting");
    return isAsked || isInside || thread.interrupts.some(asks) ? "waiting" : "unanswered";
  }
}

function isOutput({ role, activityType, content }) {
  return role === "activity" && activityType === TOOL_OUTPUT && Array.isArray(content?.output);
}

function failed(result) {
  const { status } = result.metadata ?? {};
  return result.error !== undefined || status === "error";
}
