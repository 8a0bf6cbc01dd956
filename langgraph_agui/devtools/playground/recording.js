// The runs of a thread with their inputs and events, and files of them.

const FAMILIES = [
  [/^TEXT_/, "text"],
  [/^REASONING_/, "reasoning"],
  [/^TOOL_/, "tool"],
  [/^(STATE|MESSAGES)_/, "state"],
  [/^RUN_/, "run"],
  [/^STEP_/, "steps"],
  [/^SUBAGENT_/, "subagent"],
];
export const FAMILY_NAMES = [...FAMILIES.map(([, name]) => name), "other"];
const TERMINAL = ["RUN_FINISHED", "RUN_ERROR"];
const encoder = new TextEncoder();

/** The family that events of `type` belong to: one of FAMILY_NAMES. */
export function familyOf(type) {
  return FAMILIES.find(([pattern]) => pattern.test(type))?.[1] ?? "other";
}

/** How many bytes `event` has as JSON. */
export function sizeOf(event) {
  return encoder.encode(JSON.stringify(event)).length;
}

/**
 * The runs that the inspector shows: the live ones of a thread, or those of a file.
 *
 * A run is {number, input, url, start, entries, ended, complete, findings}; an entry is {number, at, size, event,
 * item, owner, run}. `number` counts the run's events from 1, `at` is in milliseconds since the run's start and
 * undefined if a file does not have it, `item` is the id of the event's item, and `owner` the subagent run of that.
 */
export class Recording {
  runs = [];
  /** Subagent run id -> name. */
  names = new Map();
  /** Subagent run id -> the times in which it worked: {run, start, end} each, as the `at` of its events. */
  #worked = new Map();
  #owners = new Map();
  /** Type and subagent run of chunks -> the item of the last one. */
  #chunked = new Map();

  /** Begin the run of `input` at `url`; both are undefined if a file lacks them. */
  begin(input, url) {
    const number = this.runs.length + 1;
    const run = { number, input, url, start: performance.now(), entries: [], ended: undefined, complete: false };
    this.runs.push(run);
    return run;
  }

  /** Add an event to the last run, `at` milliseconds after its start, and return its entry. */
  add(event, at) {
    const run = this.runs.at(-1);
    if (event.type === "SUBAGENT_STARTED") this.names.set(event.subagentRunId, event.name ?? "subagent");
    this.#time(run, event, at);
    const item = this.#itemOf(event);
    const owner = event.subagentRunId ?? this.#owners.get(item);
    if (owner && item) this.#owners.set(item, owner);
    const entry = { number: run.entries.length + 1, at, size: sizeOf(event), event, item, owner, run };
    run.entries.push(entry);
    run.complete ||= TERMINAL.includes(event.type);
    return entry;
  }

  /** The last run has no more events. */
  end(at) {
    this.runs.at(-1).ended = at;
  }

  nameOf(id) {
    return this.names.get(id) ?? "subagent";
  }

  /** How many milliseconds the subagent `id` has worked until now; undefined if that is unknown. */
  workedFor(id) {
    const spans = this.#worked.get(id);
    const endOf = ({ run, end }) => end ?? run.ended ?? performance.now() - run.start;
    return spans?.reduce((sum, span) => sum + endOf(span) - span.start, 0);
  }

  #time(run, { type, subagentRunId: id }, at) {
    // The events that show a thread have no times of their own.
    if (at === undefined || run.url?.endsWith("/connect")) return;
    const spans = this.#worked.get(id) ?? [];
    if (type === "SUBAGENT_STARTED") this.#worked.set(id, [...spans, { run, start: at, end: undefined }]);
    if (["SUBAGENT_FINISHED", "SUBAGENT_ERROR"].includes(type) && spans.length > 0) spans.at(-1).end = at;
  }

  /** A chunk without an id continues the item of the chunk before. */
  #itemOf(event) {
    if (!event.type.endsWith("_CHUNK")) return itemOf(event);
    const lane = `${event.type} ${event.subagentRunId ?? ""}`;
    const item = itemOf(event) ?? this.#chunked.get(lane);
    this.#chunked.set(lane, item);
    return item;
  }
}

/** The id of the item that a part of a message, a call or an activity belongs to. */
export function itemOf({ messageId, toolCallId, entityId }) {
  return toolCallId ?? messageId ?? entityId;
}

/** The events of a run, from the first to number `count`. */
export function eventsOf(run, count = run.entries.length) {
  return run.entries.slice(0, count).map((entry) => entry.event);
}

/** The input of a run, or one that a file without an input may have had. */
export function inputOf(run) {
  if (run.input) return run.input;
  const started = run.entries[0]?.event;
  const { threadId = "thread", runId = "run" } = started ?? {};
  return started?.input ?? { threadId, runId, messages: [], state: {}, tools: [], context: [], forwardedProps: {} };
}

/**
 * Puts entries into rows: the deltas of one item share a row, also when those of other items come between them, until
 * another event of the item comes. A row is {entries, size, text, family, owner, type}.
 */
export class Rows {
  all = [];
  #open = new Map();

  /** Return the row that `entry` was put into. */
  add(entry) {
    const { event, item } = entry;
    const grows = typeof event.delta === "string";
    const held = item !== undefined && this.#open.get(item);
    if (grows && held?.type === event.type && held.run === entry.run) return extend(held, entry);
    const { type } = event;
    const row = { type, run: entry.run, owner: entry.owner, family: familyOf(type), entries: [], size: 0, text: "" };
    this.all.push(extend(row, entry));
    if (item !== undefined) grows ? this.#open.set(item, row) : this.#open.delete(item);
    return row;
  }
}

function extend(row, entry) {
  row.entries.push(entry);
  row.size += entry.size;
  if (typeof entry.event.delta === "string") row.text += entry.event.delta;
  return row;
}

/** Whether `row` is of `family` and of `owner` ("" is any, "main" is no subagent) and has `needle` in its JSON. */
export function matches(row, { family, owner, needle }) {
  if (family && row.family !== family) return false;
  if (owner && (row.owner ?? "main") !== owner) return false;
  if (!needle) return true;
  const has = (text) => text.toLowerCase().includes(needle);
  return has(row.text) || row.entries.some(({ event }) => has(JSON.stringify(event)));
}

/** Runs as the text of a file: an input line begins each run, then come its events. */
export function toFile(runs) {
  const lines = runs.flatMap((run) => [
    { input: inputOf(run) },
    ...run.entries.map(({ at, event }) => ({ at, event })),
  ]);
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Read a file: one that `toFile` made, JSON lines of events, or server-sent events. Throws if it is none of them. */
export function fromFile(text) {
  const recording = new Recording();
  let first;
  for (const [place, line] of /^(data|event|id|retry)?:/m.exec(text.slice(0, 1000)) ? frames(text) : jsonLines(text)) {
    const value = parse(line, place);
    if (value.type === undefined && value.input) {
      recording.begin(value.input);
      continue;
    }
    const event = value.type === undefined ? value.event : value;
    if (typeof event?.type !== "string") throw new Error(`${place} has neither an event nor the input of a run.`);
    const last = recording.runs.at(-1);
    if (!last || (event.type === "RUN_STARTED" && last.complete)) {
      recording.begin();
      first = event.timestamp;
    }
    const at = value.at ?? (event.timestamp === undefined ? undefined : event.timestamp - (first ?? event.timestamp));
    recording.add(event, at);
    recording.end(at);
  }
  if (!recording.runs.some((run) => run.entries.length > 0)) throw new Error("The file has no events.");
  return recording;
}

function* jsonLines(text) {
  for (const [index, line] of text.split("\n").entries()) if (line.trim()) yield [`Line ${index + 1}`, line];
}

function* frames(text) {
  for (const [index, frame] of text.replaceAll("\r\n", "\n").split(/\n{2,}/).entries()) {
    const data = frame.split("\n").filter((line) => line.startsWith("data:"));
    if (data.length > 0) yield [`Frame ${index + 1}`, data.map((line) => line.slice(5).replace(/^ /, "")).join("\n")];
  }
}

function parse(line, place) {
  let value;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`${place} is not JSON: ${error.message}`);
  }
  if (typeof value !== "object" || value === null) throw new Error(`${place} is not a JSON object.`);
  return value;
}

/** The request of a run as a command for a POSIX shell. */
export function toCurl(run, base) {
  const url = new URL(run.url, base).href.replaceAll("'", "%27");
  const headers = ["Content-Type: application/json", "Accept: text/event-stream"].map((header) => ` -H '${header}'`);
  // A body on the command line could be too long for it.
  return `curl -N -X POST '${url}'${headers.join("")} --data-binary @- <<'END'\n${JSON.stringify(run.input)}\nEND\n`;
}

/** Milliseconds for people. */
export function duration(ms) {
  if (ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Milliseconds in seconds, for times that are watched; "" for what was over at once. */
export function seconds(ms) {
  if (ms < 50) return "";
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms);
}

/** Bytes for people. */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}
