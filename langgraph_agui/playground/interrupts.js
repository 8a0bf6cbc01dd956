// The form that answers open interrupts: buttons for known answers, a JSON box for any other.

import { make, pretty } from "./dom.js";
import { plain } from "./thread.js";

const LABELS = { approve: "Approve", reject: "Deny" };

/** Shows the open interrupts of a thread, and calls `send` with the answers once all are given. */
export class InterruptForm {
  #box;
  #send;
  #shown = null;

  constructor(box, send) {
    this.#box = box;
    this.#send = send;
  }

  draw(thread) {
    const interrupts = thread.running ? [] : thread.interrupts;
    this.#box.hidden = interrupts.length === 0;
    const key = JSON.stringify([thread.id, thread.status, interrupts]);
    if (this.#shown === key) return;
    this.#shown = key;
    const answers = new Map();
    this.#box.replaceChildren(
      ...interrupts.map((interrupt) => {
        const call = thread.messages.flatMap((message) => message.toolCalls ?? []).find(({ id }) => id === interrupt.toolCallId);
        return card(interrupt, call, askers(thread, interrupt), (answer) => {
          answers.set(interrupt.id, { interruptId: interrupt.id, ...answer });
          if (answers.size === interrupts.length) this.#send(interrupts.map(({ id }) => answers.get(id)));
        });
      }),
    );
  }
}

function card(interrupt, call, who, answer) {
  const field = make("textarea", { rows: 3, spellcheck: false, value: template(interrupt) });
  const problem = make("p", { className: "problem", hidden: true });
  problem.setAttribute("role", "alert");
  const element = make("article", { className: "interrupt" });
  const give = (entry, label) => {
    for (const control of element.querySelectorAll("button, textarea")) control.disabled = true;
    element.append(make("p", { className: "given", textContent: `Answered: ${label}` }));
    answer(entry);
  };
  const button = (label, entry, className = "") => {
    const control = make("button", { type: "button", className, textContent: label });
    control.addEventListener("click", () => give(entry, label));
    return control;
  };
  const buttons = choices(interrupt).map(({ label, payload }, at) =>
    button(label, { status: "resolved", payload }, at === 0 ? "primary" : ""),
  );
  const sendJson = make("button", { type: "button", textContent: "Send JSON" });
  sendJson.addEventListener("click", () => {
    try {
      give({ status: "resolved", payload: JSON.parse(field.value) }, "JSON");
    } catch (error) {
      problem.hidden = false;
      problem.textContent = `That is not JSON: ${error.message}`;
    }
  });
  const fold = (label, ...content) => make("details", {}, make("summary", {}, label), ...content);
  const foldJson = (label, value) => value && fold(label, make("pre", {}, JSON.stringify(value, null, 2)));
  element.append(
    ...[
      make("h2", {}, interrupt.message ?? "The agent is waiting for your answer."),
      who && make("p", { className: "asker" }, `Asked by ${who}`),
      make("p", { className: "reason" }, `Reason: ${interrupt.reason}`),
      subject(interrupt, call) && make("pre", {}, subject(interrupt, call)),
      make("div", { className: "actions" }, ...buttons, button("Cancel", { status: "cancelled" })),
      fold("Answer with JSON", make("label", {}, "JSON answer", field), problem, sendJson),
      foldJson("Expected answer (JSON Schema)", interrupt.responseSchema),
      foldJson("Details", interrupt.metadata),
    ].filter(Boolean),
  );
  return element;
}

/** Return the subagent that asks, after its parents; nothing when the agent itself asks. */
function askers(thread, { subagentRunId }) {
  const ids = new Set();
  for (let id = subagentRunId; id && !ids.has(id); id = thread.subagents.get(id)?.parent) ids.add(id);
  return [...ids].reverse().map((id) => thread.nameOf(id)).join(" › ");
}

/** Return the call to approve as readable text: the call of the thread, or what the interrupt says about it. */
function subject({ metadata }, call) {
  if (call) return `${call.function.name} ${pretty(call.function.arguments)}`;
  return metadata?.name && `${metadata.name} ${pretty(plain(metadata.args))}`;
}

/** Return the answers for buttons: the schema's alternatives without free fields, else yes and no. */
export function choices(interrupt) {
  const schema = interrupt.responseSchema;
  const fixed = alternatives(schema).filter((option) => onlyType(option));
  if (fixed.length > 0) {
    return fixed.map((option) => {
      const type = option.properties.type.const ?? option.properties.type.enum[0];
      return { label: LABELS[type] ?? type, payload: { type } };
    });
  }
  if (Array.isArray(schema?.enum)) return schema.enum.map((value) => ({ label: plain(value), payload: value }));
  const [flag, property] = Object.entries(schema?.properties ?? {}).find(([, { type }]) => type === "boolean") ?? [];
  if (flag && (schema.required ?? [flag]).every((name) => name === flag)) {
    const answers = [{ label: "Approve", payload: { [flag]: true } }, { label: "Deny", payload: { [flag]: false } }];
    return answers.filter(({ payload }) => property.const === undefined || property.const === payload[flag]);
  }
  if (schema === undefined || schema.type === "boolean" || Object.keys(schema).length === 0) {
    return [{ label: "Approve", payload: true }, { label: "Deny", payload: false }];
  }
  return [];
}

function alternatives(schema) {
  if (!schema) return [];
  const resolve = (option) => (option.$ref ? schema.$defs?.[option.$ref.split("/").at(-1)] : option);
  return (schema.oneOf ?? schema.anyOf ?? [schema]).map(resolve).filter(Boolean);
}

function onlyType(option) {
  const type = option.properties?.type;
  const fixed = type && (type.const !== undefined || type.enum?.length === 1);
  return fixed && (option.required ?? []).every((name) => name === "type");
}

/** Return the initial text of the JSON box: the call's arguments where editing is allowed, else nothing. */
function template({ responseSchema, metadata }) {
  if (!responseSchema?.properties?.editedArgs || !metadata?.args) return "";
  return JSON.stringify({ approved: true, editedArgs: metadata.args }, null, 2);
}
