// One conversation with an agent: the person's actions become inputs of runs.
//
// In: messages, answers and edits. Out: a RunAgentInput each. `fold.js` applies the events that answer it.

import { Fold, newId } from "./fold.js";
import { from } from "./vendor/ag-ui-client.js";

/** A conversation with an agent. Only its own methods change it. */
export class Thread extends Fold {
  /** User message id -> the state that was sent with it: a fork goes on from there. */
  #states = new Map();
  /** The last input. */
  #sent = undefined;

  constructor(id = newId()) {
    super();
    this.id = id;
  }

  /** Return the thread that has applied `events` of the run that `input` began, up to one that the client refuses. */
  static async fold(input, events) {
    const thread = new Thread(input.threadId);
    const { messages, state, tools } = input;
    const held = { messages: messages ?? [], state: state ?? {}, tools: tools ?? [] };
    Object.assign(thread, structuredClone(held));
    thread.status = "running";
    await thread.follow({ ...input, ...held }, () => from(events)).catch(({ message }) => thread.failed(message));
    return thread;
  }

  /** Add a user message, a text or content parts, and return the input of the run that answers it. */
  ask(content) {
    const id = newId();
    this.messages.push({ id, role: "user", content });
    this.#states.set(id, structuredClone(this.state));
    return this.#input();
  }

  /** Give the user message `id` another text, and return the input of the run that answers it: the server forks. */
  edit(id, text) {
    const message = this.messages.find((one) => one.id === id);
    const others = typeof message.content === "string" ? [] : message.content.filter((part) => part.type !== "text");
    message.content = others.length > 0 ? [{ type: "text", text }, ...others] : text;
    return this.#fork(id);
  }

  /** Return the input of a run that writes the answer `id` anew. */
  regenerate(id) {
    const before = this.messages.slice(0, this.messages.findIndex((message) => message.id === id));
    return this.#fork(before.findLast(isQuestion).id);
  }

  #fork(id) {
    this.messages.length = this.messages.findIndex((message) => message.id === id) + 1;
    this.state = structuredClone(this.#states.get(id) ?? this.state);
    this.#forget();
    return this.#input();
  }

  /** Return the input that tries the last run again: without what it had begun to answer. */
  retry() {
    const last = this.messages.at(-1);
    if (last && last.role !== "tool" && !isQuestion(last)) this.messages = structuredClone(this.#sent.messages);
    this.#forget();
    return this.#input();
  }

  /** Drop what belongs to messages that are gone. */
  #forget() {
    const ids = new Set(this.messages.map((message) => message.id));
    this.notices = this.notices.filter(({ after, kind }) => kind !== "error" && (!after || ids.has(after)));
    for (const [id, { after }] of this.subagents) if (after && !ids.has(after)) this.subagents.delete(id);
  }

  /**
   * Return the input that asks for the thread as the server has it. `kept` is what this page or this browser has of it:
   * the server sends only subagents with messages. Whether one that was running has ended meanwhile is unknown. An
   * agent that keeps no threads lets only those join a run who know its id, `run`.
   */
  connect({ run, subagents = [], rejected = [], messages = [], state = {}, interrupts = [] } = {}) {
    Object.assign(this, { messages, state, interrupts, rejected: new Map(rejected), notices: [] });
    for (const held of subagents) {
      this.subagents.set(held.id, { ...held, status: held.status === "running" ? undefined : held.status });
    }
    const input = this.#input();
    if (run) input.runId = this.runId = run;
    return input;
  }

  /** The agent does not answer `connect`: the thread stays as this browser has it. */
  restored() {
    this.end(this.interrupts.length > 0 ? "waiting" : "finished");
  }

  /** The answer to `connect` is complete. `held` are the messages from before: the agent may know fewer of them. */
  connected(held) {
    const last = held.at(-1);
    if (this.messages.length === 0) {
      this.messages = held;
      this.status = "unknown";
      this.notice("note", held.length > 0 ? UNKNOWN_HELD : UNKNOWN, { passing: true });
    } else if (last && isQuestion(last) && !this.messages.some(({ id }) => id === last.id)) this.messages.push(last);
    if (this.messages.length > 0 && isQuestion(this.messages.at(-1))) this.failed("The last message has no answer.");
  }

  /** Return the input of the run that continues with `answers`: one {interruptId, status, payload?} each. */
  resume(answers) {
    for (const { interruptId, payload } of answers) {
      const call = this.interrupts.find(({ id }) => id === interruptId)?.toolCallId;
      if (!call) continue;
      // An answer in place of the call's result is `approved: false` too.
      const isRejection = payload?.type === undefined ? payload?.approved === false : payload.type === "reject";
      if (isRejection) this.rejected.set(call, payload.message ?? payload.reason ?? "");
      else this.rejected.delete(call);
    }
    return { ...this.#input(), resume: answers };
  }

  /** Add the results of the page's own tools, {toolCallId, content, error?} each, and return the input that goes on. */
  answerCalls(results) {
    for (const result of results) this.messages.push({ id: newId(), role: "tool", ...result });
    return this.#input();
  }

  /** The unanswered calls of the page's own tools since the last question: {id, name, args, subagentRunId?}. */
  get pendingCalls() {
    if (this.status !== "finished" || this.tools.length === 0) return [];
    const since = this.messages.slice(this.messages.findLastIndex(isQuestion) + 1);
    const answered = new Set(since.map((message) => message.toolCallId));
    return since.flatMap(({ toolCalls = [], subagentRunId }) =>
      toolCalls
        .filter(({ id, function: { name } }) => !answered.has(id) && this.tools.some((tool) => tool.name === name))
        .map(({ id, function: { name, arguments: args } }) => {
          return { id, name, args, ...(subagentRunId && { subagentRunId }) };
        }),
    );
  }

  /** The code of the error that ended the last run, if one did. */
  get failure() {
    return this.status === "failed" ? this.notices.at(-1).code : undefined;
  }

  /** Whether a person must answer before the agent goes on. */
  get waiting() {
    return !this.running && (this.interrupts.length > 0 || this.pendingCalls.length > 0);
  }

  #input() {
    this.status = "running";
    this.steps = [];
    this.usage = [];
    this.patches = [];
    this.notices = this.notices.filter(({ passing }) => !passing);
    for (const notice of this.notices) notice.retry = false;
    this.runId = newId();
    this.#sent = {
      threadId: this.id,
      runId: this.runId,
      protocolVersion: "1.0",
      messages: structuredClone(this.messages.filter((message) => message.role !== "activity")),
      state: structuredClone(this.state),
      tools: this.tools,
      context: [],
      forwardedProps: {},
    };
    return this.#sent;
  }
}

const UNKNOWN = "The agent does not know this thread. Send a message to start it.";
const UNKNOWN_HELD = "The agent does not know this thread any more. Your next message sends what this page still has.";

function isQuestion({ role, subagentRunId }) {
  return role === "user" && !subagentRunId;
}
