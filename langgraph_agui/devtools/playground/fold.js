// The fold: messages, state and runs of a conversation, made of its events.
//
// Messages and state are those of the reference client, `@ag-ui/client`, which React pages are built with. Added to
// them is how the runs go: open items, steps, subagents, interrupts, notices. Knows nothing of the page.

import { itemOf } from "./recording.js";
import {
  bufferTime,
  catchError,
  CompatibilityBoundary,
  defaultApplyEvents,
  EMPTY,
  enforceEvents,
  mergeMap,
  tap,
  transformChunks,
  verifyEvents,
} from "./vendor/ag-ui-client.js";

/** How long events are collected before they are applied, in milliseconds: about a frame of the screen. */
const FRAME = 16;

/** Messages, state and runs of a conversation, made of its events. */
export class Fold {
  messages = [];
  state = {};
  /** Ids of the messages and tool calls that are still streaming. */
  open = new Set();
  /** Open interrupts that the next input must answer. */
  interrupts = [];
  /** Lines that are no messages: {id, after: message id, kind, text, code?, details?, retry?, headers?}. */
  notices = [];
  /** Reasoning message id -> {start, end} in milliseconds. */
  thinking = new Map();
  /** Subagent run id -> {id, name, description, parent, call, after: message id, status, problem}, as they began. */
  subagents = new Map();
  /** Id of a call that the person has rejected -> the reason that was given. */
  rejected = new Map();
  /** The tools that this page offers: {name, description, parameters}. */
  tools = [];
  /** The capabilities that the agent publishes; undefined while they are unknown. */
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

  /** A change by the last event that the client has not made yet: {words, patch?}. It makes none that does not fit. */
  #awaited = undefined;

  /**
   * Apply the events of a run as the reference client does, until there are no more.
   *
   * `run(input)` returns them as an Observable. `changed` is called for each that is applied. Rejects with the error of
   * `run`, or with one that is `refused` and names the event that the client does not take.
   */
  async follow(input, run, changed = () => {}) {
    let count = 0;
    let problem;
    // Events before an error are applied. The client would forget those of them that came together with it.
    const endAtError = (explain) =>
      catchError((error) => {
        problem ??= explain(error);
        return EMPTY;
      });
    const given = { run: (sent) => run(sent).pipe(tap(() => (count += 1)), endAtError((error) => error)) };
    const refusal = (error) =>
      Object.assign(new Error(`@ag-ui/client refuses event ${count}: ${wordsOf(error)}`), { refused: true });
    const checked = new CompatibilityBoundary()
      .run(input, given)
      .pipe(enforceEvents(), transformChunks(), verifyEvents(), endAtError(refusal));
    const events = checked.pipe(bufferTime(FRAME), mergeMap(joined));
    const view = {
      onEvent: ({ event }) => {
        this.#take(event);
        changed();
      },
    };
    await defaultApplyEvents(input, events, { messages: this.messages }, [view]).forEach((made) => this.#change(made));
    this.#complain();
    if (problem) throw problem;
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

  /** Add a line below the last message; one that is `passing` goes when the next run begins. */
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

  /** An event is about to change messages and state. */
  #take(event) {
    this.#complain();
    this.#handlers[event.type]?.(event);
  }

  /** The client has applied an event. */
  #change({ messages, state }) {
    if (messages !== undefined) this.messages = messages;
    if (state !== undefined) {
      this.state = state;
      this.patches.push({ at: Date.now(), patch: this.#awaited?.patch });
      this.changes += 1;
    }
    this.#awaited = undefined;
  }

  /** Tell of a change that the client has not made. */
  #complain() {
    if (this.#awaited) this.notice("error", `${this.#awaited.words} could not be applied: its patch does not fit.`);
    this.#awaited = undefined;
  }

  #handlers = {
    RUN_STARTED: ({ runId }) => (this.runId = runId),
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

    TEXT_MESSAGE_START: ({ messageId }) => this.open.add(messageId),
    TEXT_MESSAGE_END: ({ messageId }) => this.open.delete(messageId),
    REASONING_MESSAGE_START: ({ messageId }) => {
      this.open.add(messageId);
      this.thinking.set(messageId, { start: this.thinking.get(messageId)?.start ?? Date.now() });
    },
    REASONING_MESSAGE_END: ({ messageId }) => {
      this.open.delete(messageId);
      const span = this.thinking.get(messageId);
      if (span) span.end = Date.now();
    },
    TOOL_CALL_START: ({ toolCallId }) => this.open.add(toolCallId),
    TOOL_CALL_END: ({ toolCallId }) => this.open.delete(toolCallId),

    STATE_DELTA: ({ delta }) => (this.#awaited = { words: "A state change", patch: delta }),
    ACTIVITY_DELTA: ({ messageId }) => {
      const isHeld = this.messages.some(({ id, role }) => id === messageId && role === "activity");
      if (isHeld) this.#awaited = { words: "An activity change" };
    },
  };
}

/**
 * Join the deltas of each item. The client copies the whole conversation for each event, so that thousands of them, or
 * a picture in the conversation, would freeze the page.
 */
function joined(events) {
  const all = [];
  const growing = new Map();
  for (const event of events) {
    const item = typeof event.delta === "string" ? `${event.type} ${itemOf(event)}` : undefined;
    const held = event.metadata ? undefined : growing.get(item);
    if (held) {
      held.delta += event.delta;
      continue;
    }
    const copy = { ...event };
    if (item) growing.set(item, copy);
    else growing.clear(); // it may mean the messages as they are now
    all.push(copy);
  }
  return all;
}

/** Return the text of an error; for a value that does not fit its schema, its place and the expected value. */
export function wordsOf({ message, issues }) {
  if (!issues) return message;
  return issues.map(({ path, message: problem }) => `${path.join(".")}: ${problem}`).join("; ");
}

/** A fresh id; `crypto.randomUUID` is missing on pages that are served without TLS to another machine. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
