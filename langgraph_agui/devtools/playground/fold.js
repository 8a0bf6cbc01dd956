// The fold: applies AG-UI 1.0 events to the messages, the state and the current run of a conversation.
//
// Knows nothing of the page. Chunk events are not supported: the server of this page never sends them.

import { applyPatch } from "./patch.js";

/** What the events of a conversation add up to. */
export class Fold {
  messages = [];
  state = {};
  /** Ids of the messages and tool calls that are still streaming. */
  open = new Set();
  /** Open interrupts that the next input must answer. */
  interrupts = [];
  /** Lines that are no messages, such as errors: {id, after: message id, kind, text, code?, details?, retry?}. */
  notices = [];
  /** Reasoning message id -> {start, end} in milliseconds. */
  thinking = new Map();
  /** Subagent run id -> {id, name, description, parent, call, after: message id, status, problem}, as they began. */
  subagents = new Map();
  /** Id of a call that the person has rejected -> the reason that was given. */
  rejected = new Map();
  /** The tools that this page offers: {name, description, parameters}. */
  tools = [];
  /** What the agent can do, as it publishes it; undefined while that is unknown. */
  capabilities = undefined;
  status = "idle";
  /** Steps of the current run: {name, owner, status, start, end}. */
  steps = [];
  usage = [];
  /** The changes of the state in the current run: {at, patch}; a snapshot has no patch. */
  patches = [];
  /** How often the state has changed. */
  changes = 0;
  runId = undefined;

  /** Take in one event. */
  apply(event) {
    this.#handlers[event.type]?.(event);
  }

  /** The person stopped the run. */
  stopped() {
    this.end("stopped");
    this.notice("note", "Stopped.");
  }

  /** The run failed: by a RUN_ERROR, which has a code and details, or without one, such as for lack of a connection. */
  failed(text, more = {}) {
    this.end("failed");
    this.notice("error", text, { ...more, retry: this.interrupts.length === 0 });
  }

  /** Add a line below the last message. */
  notice(kind, text, more = {}) {
    this.notices.push({ id: newId(), after: this.messages.at(-1)?.id, kind, text, ...more });
  }

  get running() {
    return this.status === "running";
  }

  /** Return the name of the subagent `id`; one without a SUBAGENT_STARTED is called "subagent". */
  nameOf(id) {
    return this.subagents.get(id)?.name ?? "subagent";
  }

  /** The run has ended, so nothing is open any more. */
  end(status) {
    this.status = status;
    this.open.clear();
    const now = Date.now();
    for (const span of this.thinking.values()) span.end ??= now;
    const left = { finished: "done", waiting: "waiting" }[status] ?? "stopped";
    for (const step of this.steps) if (step.status === "running") Object.assign(step, { status: left, end: now });
    const open = ["running", ...(this.interrupts.length > 0 ? [] : ["waiting"])];
    for (const subagent of this.subagents.values()) if (open.includes(subagent.status)) subagent.status = "stopped";
  }

  #changed(patch) {
    this.patches.push({ at: Date.now(), patch });
    this.changes += 1;
  }

  #handlers = {
    RUN_STARTED: ({ runId, input }) => {
      this.runId = runId;
      for (const message of input?.messages ?? []) if (!this.#message(message.id)) this.messages.push(message);
    },
    RUN_FINISHED: ({ outcome, usage }) => {
      this.usage = usage ?? [];
      this.interrupts = outcome?.type === "interrupt" ? outcome.interrupts : [];
      this.end({ interrupt: "waiting", cancelled: "stopped" }[outcome?.type] ?? "finished");
      if (outcome?.type === "cancelled") this.notice("note", "Stopped.");
    },
    RUN_ERROR: ({ message, code, usage, metadata }) => {
      this.usage = usage ?? [];
      this.failed(message, { code, details: Object.entries(metadata ?? {}) });
    },
    STEP_STARTED: ({ stepName, subagentRunId }) =>
      this.steps.push({ name: stepName, owner: subagentRunId, status: "running", start: Date.now(), end: undefined }),
    STEP_FINISHED: ({ stepName, subagentRunId }) => {
      const open = (step) => step.status === "running" && step.name === stepName && step.owner === subagentRunId;
      const step = this.steps.find(open);
      if (step) Object.assign(step, { status: "done", end: Date.now() });
    },
    // A suspended subagent starts again in the run that resumes it; that event may lack its parent and its call.
    SUBAGENT_STARTED: ({ subagentRunId: id, name, description, parentSubagentRunId, parentToolCallId }) => {
      const held = this.subagents.get(id) ?? { after: this.messages.at(-1)?.id };
      const parent = parentSubagentRunId ?? held.parent;
      const call = parentToolCallId ?? held.call;
      this.subagents.set(id, { ...held, id, name, description, parent, call, status: "running", problem: undefined });
    },
    SUBAGENT_FINISHED: ({ subagentRunId, outcome }) => {
      const subagent = this.subagents.get(subagentRunId);
      if (subagent) subagent.status = outcome?.type === "suspended" ? "waiting" : "done";
    },
    SUBAGENT_ERROR: ({ subagentRunId, message, code }) => {
      const subagent = this.subagents.get(subagentRunId);
      if (subagent) Object.assign(subagent, { status: code === "cancelled" ? "stopped" : "failed", problem: message });
    },

    TEXT_MESSAGE_START: (event) => {
      const { messageId: id, role = "assistant", name } = event;
      const message = this.#text(id) ?? this.#push(event, { id, role, content: "", ...(name && { name }) });
      mergeMetadata(message, event);
      this.open.add(id);
    },
    TEXT_MESSAGE_CONTENT: (event) => this.#append(event),
    TEXT_MESSAGE_END: (event) => this.#close(event),
    REASONING_MESSAGE_START: (event) => {
      const { messageId: id } = event;
      mergeMetadata(this.#text(id) ?? this.#push(event, { id, role: "reasoning", content: "" }), event);
      this.open.add(id);
      this.thinking.set(id, { start: this.thinking.get(id)?.start ?? Date.now() });
    },
    REASONING_MESSAGE_CONTENT: (event) => this.#append(event),
    REASONING_MESSAGE_END: (event) => {
      this.#close(event);
      const span = this.thinking.get(event.messageId);
      if (span) span.end = Date.now();
    },
    REASONING_ENCRYPTED_VALUE: ({ subtype, entityId, encryptedValue }) => {
      const target = subtype === "tool-call" ? this.#call(entityId)?.call : this.#text(entityId);
      if (target) target.encryptedValue = encryptedValue;
    },

    TOOL_CALL_START: (event) => {
      const { toolCallId: id, toolCallName: name } = event;
      const known = this.#call(id)?.call;
      const call = known ?? { id, type: "function", function: { name, arguments: "" } };
      if (known) known.function.name = name;
      else (this.#holder(event).toolCalls ??= []).push(call);
      mergeMetadata(call, event);
      this.open.add(id);
    },
    TOOL_CALL_ARGS: (event) => {
      const call = this.#call(event.toolCallId)?.call;
      if (!call) return;
      call.function.arguments += event.delta;
      mergeMetadata(call, event);
    },
    TOOL_CALL_END: (event) => {
      this.open.delete(event.toolCallId);
      const call = this.#call(event.toolCallId)?.call;
      if (call) mergeMetadata(call, event);
    },
    TOOL_CALL_RESULT: (event) => {
      const result = { id: event.messageId, role: "tool", toolCallId: event.toolCallId, content: event.content };
      if (event.subagentRunId) result.subagentRunId = event.subagentRunId;
      mergeMetadata(result, event);
      let at = this.messages.indexOf(this.#call(event.toolCallId)?.message) + 1 || this.messages.length;
      while (this.messages[at]?.role === "tool") at += 1;
      this.messages.splice(at, 0, result);
    },

    STATE_SNAPSHOT: ({ snapshot }) => {
      this.state = snapshot;
      this.#changed(undefined);
    },
    STATE_DELTA: ({ delta }) => {
      try {
        this.state = applyPatch(this.state, delta);
        this.#changed(delta);
      } catch (error) {
        this.notice("error", `A state change could not be applied: ${error.message}`);
      }
    },
    MESSAGES_SNAPSHOT: ({ messages, metadata }) => this.#restate(messages, metadata?.["@ag-ui/client"]),
    ACTIVITY_SNAPSHOT: (event) => {
      const { messageId: id, activityType, content, replace = true } = event;
      const held = this.#message(id);
      if (held && !replace) return;
      const message = { id, role: "activity", activityType, content };
      if (held) {
        if (held.metadata) message.metadata = held.metadata;
        if (event.subagentRunId) message.subagentRunId = event.subagentRunId;
        this.messages[this.messages.indexOf(held)] = message;
      } else this.#push(event, message);
      mergeMetadata(message, event);
    },
    ACTIVITY_DELTA: ({ messageId, patch }) => {
      const held = this.#message(messageId);
      if (held?.role !== "activity") return;
      try {
        held.content = applyPatch(held.content, patch);
      } catch (error) {
        this.notice("error", `An activity change could not be applied: ${error.message}`);
      }
    },
  };

  /** Replace known messages in place, drop those that the snapshot lacks, append new ones. */
  #restate(snapshot, convention) {
    const incoming = new Map(snapshot.map((message) => [message.id, structuredClone(message)]));
    const owned = new Set(snapshot.map((message) => message.role));
    const types = convention?.authoritativeActivityTypes;
    const survives = ({ role, activityType }) => {
      if (role === "activity" && Array.isArray(types)) return !types.includes(activityType);
      return (role === "activity" || role === "reasoning") && !owned.has(role);
    };
    const held = new Set(this.messages.map((message) => message.id));
    const kept = this.messages
      .filter((message) => incoming.has(message.id) || survives(message))
      .map((message) => incoming.get(message.id) ?? message);
    this.messages = [...kept, ...[...incoming.values()].filter((message) => !held.has(message.id))];
  }

  #message(id) {
    return this.messages.find((message) => message.id === id);
  }

  #text(id) {
    return this.messages.find((message) => message.id === id && message.role !== "activity");
  }

  #call(id) {
    for (const message of this.messages) {
      const call = message.toolCalls?.find((candidate) => candidate.id === id);
      if (call) return { message, call };
    }
    return undefined;
  }

  /** Return the assistant message that a new call belongs to. */
  #holder(event) {
    const { toolCallId, parentMessageId } = event;
    const parent = parentMessageId && this.#message(parentMessageId);
    if (parent?.role === "assistant") return parent;
    return this.#push(event, { id: parentMessageId && !parent ? parentMessageId : toolCallId, role: "assistant" });
  }

  #push(event, message) {
    if (event.subagentRunId) message.subagentRunId = event.subagentRunId;
    this.messages.push(message);
    return message;
  }

  #append(event) {
    const message = this.#text(event.messageId);
    if (!message) return;
    message.content = (message.content ?? "") + event.delta;
    mergeMetadata(message, event);
  }

  #close(event) {
    this.open.delete(event.messageId);
    const message = this.#text(event.messageId);
    if (message) mergeMetadata(message, event);
  }
}

/** A fresh id; `crypto.randomUUID` is missing on pages that are served without TLS to another machine. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function mergeMetadata(target, { metadata }) {
  if (metadata) target.metadata = { ...target.metadata, ...metadata };
}
