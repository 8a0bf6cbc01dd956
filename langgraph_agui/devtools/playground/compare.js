// The messages tab of the inspector: the client's messages before the closing snapshot, beside that snapshot.

import { contentText, make } from "./dom.js";
import { eventsOf, inputOf } from "./recording.js";

/**
 * Compare the messages that a client has folded with those of a snapshot.
 *
 * Returns one {id, kind, held?, sent?, fields} for each message. `kind` is "equal", "changed", "missing" (only held),
 * "added" (only in the snapshot), "moved", or "kept": the snapshot leaves out all messages of that role.
 */
export function compare(held, snapshot) {
  const sent = new Map(snapshot.map((message) => [message.id, message]));
  const known = new Map(held.map((message) => [message.id, message]));
  const roles = new Set(snapshot.map((message) => message.role));
  const keeps = ({ role }) => ["activity", "reasoning"].includes(role) && !roles.has(role);
  const order = held.filter(({ id }) => sent.has(id)).map(({ id }) => id);
  const shared = snapshot.filter(({ id }) => known.has(id)).map(({ id }) => id);
  const rows = held.map((message) => {
    const { id } = message;
    const other = sent.get(id);
    if (!other) return { id, kind: keeps(message) ? "kept" : "missing", held: message, fields: [] };
    const fields = differing(message, other);
    const moved = order.indexOf(id) !== shared.indexOf(id);
    return { id, kind: fields.length > 0 ? "changed" : moved ? "moved" : "equal", held: message, sent: other, fields };
  });
  const added = snapshot.filter(({ id }) => !known.has(id));
  return [...rows, ...added.map((message) => ({ id: message.id, kind: "added", sent: message, fields: [] }))];
}

function differing(one, other) {
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return keys.filter((key) => sorted(one[key]) !== sorted(other[key]));
}

/** JSON text that is the same for objects whose keys come in another order. */
function sorted(value) {
  const inOrder = (_, part) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part;
  return JSON.stringify(value ?? null, inOrder);
}

const WORDS = {
  equal: "equal",
  changed: "changed",
  missing: "missing in the snapshot",
  added: "added by the snapshot",
  moved: "in a different place",
  kept: "kept, the snapshot has no such role",
};

/** The messages tab. */
export class MessagesView {
  #container;
  #fold;
  #key = "";

  /** `fold(input, events)` resolves to a thread that has applied the events. */
  constructor(container, fold) {
    this.#container = container;
    this.#fold = fold;
  }

  async draw(run) {
    const key = run && `${run.number} ${run.entries.length} ${run.ended}`;
    if (this.#key === key && this.#container.run === run) return;
    this.#key = key;
    this.#container.run = run;
    const content = await this.#content(run);
    if (this.#key === key && this.#container.run === run) this.#container.replaceChildren(...content);
  }

  async #content(run) {
    const note = (text) => make("p", { className: "insp-note" }, text);
    if (!run) return [note("No run yet.")];
    if (run.ended === undefined && !run.complete) return [note("The messages are compared once the run has ended.")];
    const events = eventsOf(run);
    const at = events.findLastIndex((event) => event.type === "MESSAGES_SNAPSHOT");
    if (at < 0) return [note("The run sent no MESSAGES_SNAPSHOT to compare with.")];
    const { messages } = await this.#fold(inputOf(run), events.slice(0, at));
    const rows = compare(messages, events[at].messages);
    const wrong = rows.filter(({ kind }) => !["equal", "kept"].includes(kind)).length;
    const word = wrong === 1 ? "1 message differs" : `${wrong} messages differ`;
    const verdict = make("p", { className: "insp-verdict" }, wrong === 0 ? "Equal" : word);
    verdict.dataset.kind = wrong === 0 ? "good" : "bad";
    const titles = ["The client's messages", `The snapshot (event ${at + 1})`];
    const heads = make("tr", {}, ...titles.map((text) => cell("th", text)));
    const table = make("table", {}, make("thead", {}, heads), make("tbody", {}, ...rows.map(rowOf)));
    return [verdict, make("div", { className: "insp-table" }, table)];
  }
}

function cell(tag, ...children) {
  const element = make(tag, {}, ...children);
  if (tag === "th") element.scope = "col";
  return element;
}

function rowOf({ kind, held, sent, fields }) {
  const row = make("tr", {}, cell("td", messageBox(held, fields)), cell("td", messageBox(sent, fields)));
  row.dataset.kind = kind;
  if (kind !== "equal") {
    const words = kind === "changed" ? `${WORDS.changed}: ${fields.join(", ")}` : WORDS[kind];
    row.lastElementChild.append(make("p", { className: "insp-kind" }, words));
  }
  return row;
}

function messageBox(message, fields) {
  if (!message) return make("p", { className: "insp-note" }, "–");
  const calls = (message.toolCalls ?? []).map(({ function: { name } }) => `${name}()`).join(" ");
  const text = [contentText(message.content).slice(0, 300), calls].filter(Boolean).join(" ");
  const summary = make("summary", {}, make("strong", {}, message.role), " ", text);
  const box = make("details", {}, summary);
  const fill = () => {
    if (!box.open || box.children.length > 1) return;
    box.append(make("pre", {}, JSON.stringify(message, null, 2)));
  };
  box.addEventListener("toggle", fill);
  const changed = fields.map((field) => {
    const value = make("pre", {}, `${field}: ${JSON.stringify(message[field], null, 2) ?? "absent"}`);
    return make("div", { className: "insp-field" }, value);
  });
  return make("div", {}, box, ...changed);
}
