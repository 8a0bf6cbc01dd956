// Turns a thread into the items that the page shows, in order and as plain data. Each subagent is an item of its own.

import { contentText } from "./dom.js";

const TOOL_OUTPUT = "langgraph:tool_output";
const MEDIA = "langgraph:media";
const SUMMARY = "langgraph:summary";
// As long is the line that stands for what an agent of a team does.
const MAX_LINE = 200;
// Subagents may be each other's parents, as far as a server is concerned.
const MAX_DEPTH = 8;

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
    } else if (message.role === "activity" && message.activityType === SUMMARY) {
      items.push({ key, kind: "summary", message });
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
      const tools = new Set(items.filter(({ subagents }) => subagents?.length > 0).map(toolOf));
      const isMember = (item) => item?.kind === "subagent" || tools.has(toolOf(item));
      items.forEach((item, at) => {
        item.team = isMember(item) && (isMember(items[at - 1]) || isMember(items[at + 1]));
        if (item.team) item.line = problemOf(item) || lineOf(item.subagents ?? item.items) || taskOf(item);
        if (item.kind !== "tool") return;
        item.state ??= this.#stateOf(item);
        item.repeats = item.subagents.some((one) => isAnswer(item.result, one));
      });
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

/** The name of the tool that an item calls. Calls of one that runs subagents are a team, as subagents in a row are. */
function toolOf(item) {
  return item?.call?.function.name;
}

/** Why a member of a team has failed; "" if it has not. */
function problemOf({ result, subagent }) {
  if (subagent) return subagent.problem ?? "";
  return result && failed(result) ? shortened(contentText(result.content) || result.error) : "";
}

/** Return the line of a team's member that has said nothing: its result, or its task. */
function taskOf({ call, result, subagent }) {
  return shortened(subagent ? (subagent.description ?? "") : contentText(result?.content) || call.function.arguments);
}

function shortened(text) {
  return String(text).replaceAll(/\s+/g, " ").trim().slice(0, MAX_LINE);
}

/** Whether `result`, that of a call, says the same as the subagent that the call has run. */
function isAnswer(result, { items }) {
  const text = contentText(result?.content).trim();
  const last = items.findLast(({ kind }) => kind === "text");
  return text !== "" && contentText(last?.message.content).trim() === text;
}

/** Return in one line what `items` come to: the last words while they are written, else the first of the last text. */
function lineOf(items, depth = 0) {
  if (depth > MAX_DEPTH) return "";
  const last = items.findLast(({ kind }) => ["text", "reasoning", "tool", "subagent"].includes(kind));
  switch (last?.kind) {
    case "text": {
      const text = contentText(last.message.content);
      const part = last.streaming ? text.slice(-MAX_LINE) : text.slice(0, 2 * MAX_LINE);
      return shortened(part.replaceAll(/[*#`]+/g, ""));
    }
    case "reasoning":
      return last.streaming ? "Thinking…" : "";
    case "tool":
      return shortened(`${last.call.function.name} ${last.call.function.arguments}`);
    case "subagent":
      return lineOf(last.items, depth + 1);
    default:
      return "";
  }
}

function isOutput({ role, activityType, content }) {
  return role === "activity" && activityType === TOOL_OUTPUT && Array.isArray(content?.output);
}

function failed(result) {
  const { status } = result.metadata ?? {};
  return result.error !== undefined || status === "error";
}
