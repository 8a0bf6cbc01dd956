// Where the time of a run went: steps, model calls and tools as a waterfall, and tokens.

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
const ENDS = { TEXT_MESSAGE_END: "text", REASONING_MESSAGE_END: "reasoning", TOOL_CALL_END: "tool call" };
const CONTENTS = { TEXT_MESSAGE_CONTENT: "text", REASONING_MESSAGE_CONTENT: "reasoning" };
const KINDS = ["reasoning", "text", "tool call", "tool"];
// How often a run that goes on is drawn.
const LIVE_MILLISECONDS = 200;

/**
 * Return the times of a run by its entries, in milliseconds since its start.
 *
 * They are {end, first, reasoning, text, steps, usage}. `steps` are {name, owner, start, end, status, calls, tools,
 * usage, entry}, one without a name for calls outside of steps; `calls` are {start, end, owner, spans, entry}, one
 * for each model call whose output was sent; `spans` are {kind, label, start, end}; `tools` are {name, start, end,
 * owner, entry}. An `end` is undefined while its end has not come; an `entry` is the event to show. The `usage` of a
 * step has an entry for each of its model calls, also for those whose output is hidden.
 */
export function timingOf({ entries, ended }) {
  const timing = { end: ended, first: entries[0]?.at, reasoning: undefined, text: undefined, steps: [], usage: [] };
  const outside = stepOf("", undefined, 0, entries[0]);
  const calls = new Map();
  const spans = new Map();
  const waiting = new Map();
  const asked = new Map();
  const openOf = (owner) => timing.steps.filter((step) => step.end === undefined && step.owner === owner);
  for (const entry of expanded(entries)) {
    const { at, event, owner } = entry;
    const kind = STARTS[event.type];
    if (CONTENTS[event.type]) timing[CONTENTS[event.type]] ??= at;
    else if (event.type === "STEP_STARTED") timing.steps.push(stepOf(event.stepName, owner, at, entry));
    else if (event.type === "STEP_FINISHED") {
      const step = openOf(owner).find(({ name }) => name === event.stepName);
      if (step) Object.assign(step, { end: at, status: "done", usage: event.metadata?.usage ?? [] });
    } else if (kind) {
      const id = callId(event, kind, waiting, owner);
      if (!calls.has(id)) {
        calls.set(id, { start: at, end: undefined, owner, spans: [], entry });
        (openOf(owner).at(-1) ?? outside).calls.push(calls.get(id));
      }
      const span = { kind, label: event.toolCallName ?? "", start: at, end: undefined };
      calls.get(id).spans.push(span);
      spans.set(`${kind} ${itemOf(event)}`, { span, call: calls.get(id) });
    } else if (ENDS[event.type]) {
      const held = spans.get(`${ENDS[event.type]} ${itemOf(event)}`);
      if (held) held.span.end = held.call.end = at;
      const name = held?.span.label;
      if (event.type === "TOOL_CALL_END" && name) asked.set(event.toolCallId, { name, since: at, owner });
    } else if (event.type === "TOOL_CALL_RESULT" && asked.has(event.toolCallId)) {
      const { name, since, owner: caller } = asked.get(event.toolCallId);
      asked.delete(event.toolCallId);
      const open = openOf(caller);
      const step = open.find((one) => one.calls.length + one.tools.length === 0) ?? open.at(-1) ?? outside;
      step.tools.push({ name, start: Math.max(since, step.start), end: at, owner: caller, entry });
    } else if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") timing.usage = event.usage ?? [];
  }
  const last = entries.at(-1)?.event;
  const left = last?.outcome?.type === "interrupt" ? "waiting" : "stopped";
  if (ended !== undefined) for (const step of timing.steps) if (step.status === "running") step.status = left;
  const [first] = partsOf(outside);
  if (first) {
    outside.start = first.start;
    timing.steps.push(outside);
    timing.steps.sort((one, other) => one.start - other.start);
  }
  return timing;
}

/** Return the model calls and the tools of a step in the order in which they began. */
function partsOf(step) {
  return [...step.calls, ...step.tools].sort((one, other) => one.start - other.start);
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

function stepOf(name, owner, start, entry) {
  return { name, owner, start, end: undefined, status: "running", calls: [], tools: [], usage: [], entry };
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
  #runs = make("div", { className: "insp-runs" });
  #usage = make("div", { id: "usage" });
  #reveal;
  /** The runs that are drawn: run -> {key, timing, box}. */
  #drawn = new Map();
  #last = -Infinity;

  /** `reveal(entry)` shows an event. */
  constructor(container, reveal) {
    this.#reveal = reveal;
    const legend = make("p", { className: "insp-legend" }, ...KINDS.map((kind) => {
      const key = make("span", {}, kind);
      key.dataset.kind = kind;
      return key;
    }));
    const title = make("h3", {}, "Tokens of the thread");
    container.append(this.#runs, legend, make("section", { className: "insp-part" }, title, this.#usage));
  }

  /** Show the runs of a recording, the newest first. */
  draw(recording) {
    const { runs } = recording;
    const live = runs.at(-1)?.ended === undefined;
    const now = performance.now();
    const isKnown = runs.length > 0 && runs.every((run) => this.#drawn.has(run));
    if (live && isKnown && now - this.#last < LIVE_MILLISECONDS) return;
    this.#last = now;
    const before = this.#drawn;
    this.#drawn = new Map(runs.map((run) => [run, this.#draw(run, recording, before.get(run))]));
    const boxes = [...this.#drawn.values()].map(({ box }) => box);
    const shown = this.#runs.children;
    if (shown.length !== boxes.length || boxes.some((box, at) => shown[boxes.length - 1 - at] !== box)) {
      for (const box of boxes) if (!box.touched) box.open = box === boxes.at(-1);
      this.#runs.replaceChildren(...boxes.toReversed());
    }
    const usage = addUsage([...this.#drawn.values()].map(({ timing }) => timing.usage));
    const key = JSON.stringify(usage);
    if (this.#usage.dataset.key === key) return;
    this.#usage.dataset.key = key;
    this.#usage.replaceChildren(...usage.map(usageBox));
  }

  #draw(run, recording, held) {
    const key = run.ended === undefined ? performance.now() : `${run.entries.length} ${run.ended}`;
    if (held?.key === key) return held;
    const timing = timingOf(run);
    const box = held?.box ?? runBox(run);
    const [{ lastElementChild: size }, body] = box.children;
    size.textContent = duration(timing.end);
    body.replaceChildren(...this.#inside(run, timing, recording));
    return { key, timing, box };
  }

  #inside(run, timing, recording) {
    if (timing.first === undefined) {
      const words = run.entries.length > 0 ? "The file has no times." : "No event yet.";
      return [make("p", { className: "insp-note" }, words)];
    }
    const now = timing.end ?? performance.now() - run.start;
    const scale = { now, length: Math.max(now, run.entries.at(-1).at, 1), reveal: this.#reveal, recording };
    const steps = make("ol", { className: "insp-steps" }, ...timing.steps.map((step) => stepItem(step, scale)));
    return [steps, facts(timesOf(timing)), ...timing.usage.map(usageBox)];
  }
}

function usageBox(entry) {
  const known = COUNTS.filter(([field]) => entry[field] !== undefined);
  const counts = known.map(([field, label]) => [label, String(entry[field])]);
  const model = [entry.provider, entry.model].filter(Boolean).join(" / ") || "model";
  return make("div", { className: "insp-usage" }, make("p", { className: "insp-model" }, model), facts(counts));
}

function facts(pairs) {
  const cells = pairs.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)));
  return make("dl", { className: "insp-facts" }, ...cells);
}

function runBox(run) {
  const head = make("summary", {}, `Run ${run.number}`, make("span", { className: "insp-size" }));
  const box = make("details", { className: "insp-run" }, head, make("div"));
  head.addEventListener("click", () => (box.touched = true));
  return box;
}

function timesOf(timing) {
  const pairs = [
    ["first event", timing.first],
    ["first reasoning", timing.reasoning],
    ["first text", timing.text],
  ].filter(([, value]) => value !== undefined).map(([label, value]) => [label, duration(value)]);
  const output = timing.usage.reduce((sum, { outputTokens = 0 }) => sum + outputTokens, 0);
  const seconds = streamed(timing) / 1000;
  if (output > 0 && seconds > 0) pairs.push(["output tokens per second of streaming", (output / seconds).toFixed(1)]);
  return pairs;
}

function stepItem(step, scale) {
  const badge = (id) => id && make("span", { className: "owner" }, scale.recording.nameOf(id));
  const parts = partsOf(step).map((part) => partItem(part, step, scale, step.name ? undefined : badge(part.owner)));
  const list = parts.length > 0 ? make("ol", {}, ...parts) : null;
  if (!step.name) return make("li", {}, list);
  // The calls have their tokens themselves.
  const tokens = step.calls.length === 0 ? tokensOf(step.usage) : "";
  const item = make("li", {}, lineOf(step.name, step, scale, [], tokens, badge(step.owner)), list);
  item.dataset.status = step.status;
  return item;
}

function partItem(part, step, scale, owner) {
  if (part.name) return make("li", {}, lineOf(part.name, { ...part, kind: "tool" }, scale, [], "", owner));
  const index = step.calls.indexOf(part);
  const tokens = step.usage.length === step.calls.length ? tokensOf([step.usage[index]]) : "";
  return make("li", {}, lineOf(`model call ${index + 1}`, part, scale, part.spans, tokens, owner));
}

/** The tokens of model calls in words, such as "12 in, 34 out"; "" if none are known. */
function tokensOf(entries) {
  const sum = (field) => entries.reduce((total, entry) => total + (entry[field] ?? 0), 0);
  return entries.length > 0 ? `${sum("inputTokens")} in, ${sum("outputTokens")} out` : "";
}

/** A line of the waterfall: a name, a bar that lies where the time was in the run, and how long it took. */
function lineOf(name, span, { now, length, reveal }, parts = [], tokens = "", owner = undefined) {
  const bar = make("span", { className: "insp-bar" });
  bar.setAttribute("aria-hidden", "true");
  const pieces = [span, ...parts].map(({ kind = "whole", start, end = now }) => {
    const piece = make("span");
    piece.dataset.kind = kind;
    piece.style.left = `${Math.min(99.5, (100 * start) / length)}%`;
    piece.style.width = `${Math.max(0.5, (100 * (end - start)) / length)}%`;
    return piece;
  });
  bar.append(...pieces);
  const state = span.end === undefined && span.status && make("span", { className: "insp-state" }, span.status);
  const label = make("span", { className: "insp-label" }, make("span", {}, name), owner || null, state || null);
  const took = make("span", { className: "insp-took" }, duration((span.end ?? now) - span.start));
  const line = make("button", { type: "button", className: "insp-line" }, label, bar, took);
  if (tokens) line.append(make("span", { className: "insp-tokens" }, `${tokens} tokens`));
  const words = ({ kind, label: of, start, end = now }) => [kind, of, duration(end - start)].filter(Boolean).join(" ");
  const inside = parts.map(words);
  line.title = [`${name}, from ${duration(span.start)}`, ...inside].join("\n");
  line.append(make("span", { className: "unseen" }, inside.join(", ")));
  line.addEventListener("click", () => reveal(span.entry));
  return line;
}
