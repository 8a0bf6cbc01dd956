// Steps, timing and tokens: of the current run, and of each earlier run of the thread.

import { make } from "./dom.js";
import { duration, itemOf } from "./recording.js";
import { Subject, transformChunks } from "./vendor/ag-ui-client.js";

const COUNTS = [
  ["inputTokens", "input"],
  ["cachedInputTokens", "cached"],
  ["cacheWriteInputTokens", "cache writes"],
  ["outputTokens", "output"],
  ["reasoningTokens", "reasoning"],
  ["totalTokens", "total"],
];
const STARTS = { TEXT_MESSAGE_START: "text", REASONING_MESSAGE_START: "reasoning", TOOL_CALL_START: "tool call" };
const ENDS = ["TEXT_MESSAGE_END", "REASONING_MESSAGE_END", "TOOL_CALL_END"];
const CONTENTS = { TEXT_MESSAGE_CONTENT: "text", REASONING_MESSAGE_CONTENT: "reasoning" };

/**
 * What the entries of a run show of its times, in milliseconds since its start.
 *
 * Returns {end, first, reasoning, text, steps, usage}. `steps` are {name, owner, start, end, calls, usage}, the first
 * one without a name for calls outside of steps; `calls` are {id, start, end, spans}, one for each model call whose
 * output was sent; `spans` are {kind, label, start, end}. An `end` is undefined while its end has not come. The `usage`
 * of a step has an entry for each of its model calls, also for those whose output is hidden.
 */
export function timingOf({ entries, ended }) {
  const timing = { end: ended, first: entries[0]?.at, reasoning: undefined, text: undefined, steps: [], usage: [] };
  const outside = stepOf("", undefined, 0);
  const calls = new Map();
  const spans = new Map();
  const waiting = new Map();
  for (const { at, event, owner } of expanded(entries)) {
    const kind = STARTS[event.type];
    if (CONTENTS[event.type]) timing[CONTENTS[event.type]] ??= at;
    if (event.type === "STEP_STARTED") timing.steps.push(stepOf(event.stepName, owner, at));
    const open = timing.steps.filter((step) => step.end === undefined && step.owner === owner);
    if (event.type === "STEP_FINISHED") {
      const step = open.find(({ name }) => name === event.stepName);
      if (step) Object.assign(step, { end: at, usage: event.metadata?.usage ?? [] });
    }
    if (kind) {
      const step = open.at(-1) ?? outside;
      const id = callId(event, kind, waiting, owner);
      if (!calls.has(id)) {
        calls.set(id, { id, start: at, end: undefined, spans: [] });
        step.calls.push(calls.get(id));
      }
      const span = { kind, label: event.toolCallName ?? "", start: at, end: undefined };
      calls.get(id).spans.push(span);
      spans.set(`${kind} ${itemOf(event)}`, { span, call: calls.get(id) });
    }
    if (ENDS.includes(event.type)) {
      const held = spans.get(`${STARTS[event.type.replace("_END", "_START")]} ${itemOf(event)}`);
      if (held) held.span.end = held.call.end = at;
    }
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") timing.usage = event.usage ?? [];
  }
  if (outside.calls.length > 0) timing.steps.unshift(outside);
  return timing;
}

/** Return the entries with the start, the contents and the end of each item in place of its chunks. */
function expanded(entries) {
  if (!entries.some(({ event }) => event.type.endsWith("_CHUNK"))) return entries;
  const all = [];
  const events = new Subject();
  let current;
  events.pipe(transformChunks()).subscribe({
    next: (event) => all.push(event === current.event ? current : { ...current, event, owner: event.subagentRunId }),
    error: () => {}, // chunks that do not fit together have no times
  });
  for (const entry of entries) {
    current = entry;
    events.next(entry.event);
  }
  return all;
}

function stepOf(name, owner, start) {
  return { name, owner, start, end: undefined, calls: [], usage: [] };
}

/** The id of the message of a model call. Reasoning comes before the message that it belongs to. */
function callId(event, kind, waiting, owner) {
  if (kind === "reasoning") {
    const id = event.messageId.replace(/:reasoning:\d+$/, "");
    if (id === event.messageId) waiting.set(owner, id);
    return id;
  }
  const early = waiting.get(owner);
  waiting.delete(owner);
  return early ?? event.parentMessageId ?? itemOf(event);
}

/** The usage of several runs, added up by provider and model. */
export function addUsage(lists) {
  const total = new Map();
  for (const entry of lists.flat()) {
    const key = JSON.stringify([entry.provider, entry.model]);
    const held = total.get(key) ?? { provider: entry.provider, model: entry.model };
    for (const [field] of COUNTS) if (entry[field] !== undefined) held[field] = (held[field] ?? 0) + entry[field];
    total.set(key, held);
  }
  return [...total.values()];
}

/** How long at least one model call of the run was streaming. */
function streamed(timing) {
  const spans = timing.steps.flatMap((step) => step.calls).filter((call) => call.end !== undefined);
  spans.sort((one, other) => one.start - other.start);
  let sum = 0;
  let reached = 0;
  for (const { start, end } of spans) {
    sum += Math.max(0, end - Math.max(start, reached));
    reached = Math.max(reached, end);
  }
  return sum;
}

/** The timing tab of the inspector. */
export class TimingView {
  #steps = make("ol", { id: "steps" });
  #usage = make("div", { id: "usage" });
  #runs = make("div", { className: "insp-runs" });
  #key = "";

  constructor(container) {
    const part = (title, ...inside) => make("section", { className: "insp-part" }, make("h3", {}, title), ...inside);
    container.append(part("Steps", this.#steps), part("Tokens of the thread", this.#usage), part("Runs", this.#runs));
  }

  /** Show the steps of the current run. */
  drawSteps(thread) {
    const key = JSON.stringify(thread.steps);
    if (this.#steps.dataset.key === key) return;
    this.#steps.dataset.key = key;
    const items = thread.steps.map((step) => {
      const owner = step.owner && make("span", { className: "owner", textContent: thread.nameOf(step.owner) });
      const word = step.status === "done" ? "finished" : step.status;
      const item = make("li", {}, step.name, " ", owner, make("span", { className: "unseen" }, ` (${word})`));
      item.dataset.status = step.status;
      return item;
    });
    this.#steps.replaceChildren(...items);
  }

  /** Show the runs of a recording, the newest first. */
  draw(recording) {
    const key = recording.runs.map((run) => `${run.entries.length} ${run.ended}`).join();
    if (this.#key === key && this.#runs.recording === recording) return;
    this.#key = key;
    this.#runs.recording = recording;
    const timings = recording.runs.map((run) => timingOf(run));
    this.#usage.replaceChildren(...addUsage(timings.map(({ usage }) => usage)).map(usageBox));
    const open = new Map([...this.#runs.children].map((one) => [one.dataset.run, one.open]));
    const boxes = recording.runs.map((run, index) => runBox(run, timings[index], recording));
    for (const box of boxes) box.open = open.get(box.dataset.run) ?? box === boxes.at(-1);
    this.#runs.replaceChildren(...boxes.toReversed());
  }
}

function usageBox(entry) {
  const known = COUNTS.filter(([field]) => entry[field] !== undefined);
  const counts = known.map(([field, label]) => [label, String(entry[field])]);
  const model = [entry.provider, entry.model].filter(Boolean).join(" / ") || "model";
  return make("div", { className: "insp-usage" }, make("h4", {}, model), facts(counts));
}

function facts(pairs) {
  const cells = pairs.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)));
  return make("dl", { className: "insp-facts" }, ...cells);
}

function runBox(run, timing, recording) {
  const head = make("summary", {}, `Run ${run.number}`, make("span", { className: "insp-size" }, duration(timing.end)));
  const box = make("details", { className: "insp-run" }, head);
  box.dataset.run = String(run.number);
  if (timing.first === undefined) {
    const words = run.entries.length > 0 ? "The file has no times." : "No event yet.";
    box.append(make("p", { className: "insp-note" }, words));
  } else box.append(...timesOf(run, timing, recording));
  box.append(...timing.usage.map(usageBox));
  return box;
}

function timesOf(run, timing, recording) {
  const pairs = [
    ["duration", timing.end],
    ["first event", timing.first],
    ["first reasoning", timing.reasoning],
    ["first text", timing.text],
  ].filter(([, value]) => value !== undefined).map(([label, value]) => [label, duration(value)]);
  const output = timing.usage.reduce((sum, { outputTokens = 0 }) => sum + outputTokens, 0);
  const seconds = streamed(timing) / 1000;
  if (output > 0 && seconds > 0) pairs.push(["output tokens per second of streaming", (output / seconds).toFixed(1)]);
  const length = Math.max(timing.end ?? 0, run.entries.at(-1).at, 1);
  const items = timing.steps.map((step) => stepItem(step, length, recording));
  return [facts(pairs), make("ol", { className: "insp-steps" }, ...items)];
}

function stepItem(step, length, recording) {
  const calls = step.calls.map((call, index) => {
    const parts = call.spans.map((span) => `${span.kind}${span.label && ` ${span.label}`} ${lasted(span)}`);
    const used = step.usage.length === step.calls.length ? tokenText([step.usage[index]]) : "";
    const text = `model call ${index + 1}: ${lasted(call)}${used} (${parts.join(", ")})`;
    return make("li", {}, timeLine(text, call, length, call.spans));
  });
  const list = calls.length > 0 && make("ol", {}, ...calls);
  if (!step.name) return make("li", {}, list);
  const owner = step.owner && make("span", { className: "owner", textContent: recording.nameOf(step.owner) });
  const text = `${step.name}: ${lasted(step)}, from ${duration(step.start)}${tokenText(step.usage)}`;
  return make("li", {}, timeLine(text, step, length, [], owner), list || null);
}

/** The tokens of model calls in words, such as ", 12 tokens in, 34 out"; "" if none are known. */
function tokenText(entries) {
  const sum = (field) => entries.reduce((total, entry) => total + (entry[field] ?? 0), 0);
  return entries.length > 0 ? `, ${sum("inputTokens")} tokens in, ${sum("outputTokens")} out` : "";
}

function lasted({ start, end }) {
  return end === undefined ? "not ended" : duration(end - start);
}

/** A line of text with a bar below it, which lies where the time was in the run. */
function timeLine(text, span, length, parts = [], owner = undefined) {
  const bar = make("div", { className: "insp-bar" });
  bar.setAttribute("aria-hidden", "true");
  const inner = [span, ...parts].map(({ kind = "whole", start, end = length }) => {
    const piece = make("span");
    piece.dataset.kind = kind;
    piece.style.left = `${(100 * start) / length}%`;
    piece.style.width = `${Math.max(0.5, (100 * (end - start)) / length)}%`;
    return piece;
  });
  bar.append(...inner);
  const line = make("p", {}, text, ...(owner ? [" ", owner] : []));
  return make("div", { className: "insp-line" }, line, bar);
}
