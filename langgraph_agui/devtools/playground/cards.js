// One card for each thing that a person has to answer: an approval, a question, or a call of one of the page's tools.

import { approvalOf, choicesOf, takesText } from "./choices.js";
import { button, changed, isLong, make, plain, pretty } from "./dom.js";
import { Form } from "./forms.js";
import { ABSENT, check, inferred, isObject, same, Schemas } from "./schema.js";

const ONE_LINE = 120;
// Data of an interrupt that the card shows elsewhere, and does not repeat.
const SHOWN_ELSEWHERE = [
  "message", "question", "description", "reason", "metadata", "toolCallId", "tool_call_id",
  "expiresAt", "expires_at", "responseSchema", "response_schema",
];

let cards = 0;

/** A card that gives one answer. `give` takes the answer and its name; a given answer can be taken back. */
class Card {
  #body = make("div", { className: "question-body" });
  #given = make("div", { className: "question-given", hidden: true });
  #text = make("p");
  #problem = make("p", { className: "question-problem", hidden: true });
  #give;
  #call;

  /** `call` is the call that is asked about, in words. */
  constructor({ message, who, kind, call }, give, takeBack) {
    this.#give = give;
    this.#call = call;
    const id = `question-${(cards += 1)}`;
    const [first, rest] = split(message);
    this.#problem.setAttribute("role", "alert");
    const back = button("Change answer", () => takeBack());
    this.#given.append(this.#text, back);
    this.element = make(
      "article",
      { className: "question" },
      make("h2", { id }, first),
      rest && make("p", { className: "question-more" }, rest),
      who && make("p", { className: "question-asker" }, `Asked by ${who}`),
      this.#body,
      this.#given,
    );
    this.element.dataset.kind = kind;
    this.element.setAttribute("aria-labelledby", id);
  }

  /** Add parts to the card; the line for problems stays below them. */
  add(...parts) {
    this.#body.append(...parts.filter(Boolean), this.#problem);
  }

  /** Give the answer that `make` returns. What it throws is shown; ABSENT means that a form shows what is wrong. */
  answer(label, make) {
    this.#problem.hidden = true;
    try {
      const entry = make();
      if (entry !== ABSENT) this.#give(entry, label);
    } catch (error) {
      this.#problem.hidden = false;
      this.#problem.textContent = error.message;
    }
  }

  close(label) {
    this.#text.textContent = [`Answered: ${label}`, this.#call].filter(Boolean).join(" · ");
    this.#body.hidden = true;
    this.#given.hidden = false;
  }

  open() {
    this.#body.hidden = false;
    this.#given.hidden = true;
  }

  focus() {
    this.element.querySelector(":is(input, textarea, select, button):not(:disabled)")?.focus();
    this.element.scrollIntoView({ block: "nearest" }); // the question, too
  }
}

/**
 * Return the card of an interrupt, as questions.js asks it: with its `end` in milliseconds, and whether that has come.
 * `give` gets {status, payload?} and the name of the answer.
 */
export function interruptCard({ value: interrupt, end, expired }, thread, give, takeBack) {
  const calls = thread.messages.flatMap((message) => message.toolCalls ?? []);
  const call = calls.find(({ id }) => id === interrupt.toolCallId);
  const approval = approvalOf(interrupt);
  const asked = { ...subjectOf(interrupt, call), message: interrupt.message };
  const kind = approval ? "approval" : "question";
  const about = { message: questionOf(asked), who: askers(thread, interrupt), kind, call: inWords(asked) };
  const card = new Card(about, give, takeBack);
  const resolve = (label, payload) => card.answer(label, () => {
    const value = payload();
    return value === ABSENT ? ABSENT : { status: "resolved", payload: value };
  });
  const cancel = button("Cancel", () => give({ status: "cancelled" }, "Cancel"));
  cancel.title = "The agent continues without an answer";
  const { responseSchema, message, ...rest } = interrupt;
  const folds = [foldJson("Expected answer (JSON Schema)", responseSchema), foldJson("Details", rest)];
  if (expired) {
    card.add(make("p", { className: "question-late" }, "It is too late to answer. You can only cancel."), row(cancel));
    card.add(...folds);
    return card;
  }
  if (end) card.add(make("p", { className: "question-until" }, `Answer until ${new Date(end).toLocaleString()}.`));
  const json = jsonWay(interrupt, approval, asked.args, resolve);
  if (approval) addApproval(card, interrupt, approval, asked, thread, resolve, { json, cancel, folds });
  else addQuestion(card, interrupt, resolve, { json, cancel, folds });
  return card;
}

// -- approvals -----------------------------------------------------------------------------------------------------

/** Return the name and the arguments of the call to approve: those of the interrupt, else those of `call`. */
function subjectOf({ metadata }, call) {
  const name = typeof metadata?.name === "string" ? metadata.name : call?.function.name;
  return { name, args: metadata?.args ?? (call && parsed(call.function.arguments)) };
}

/** Return a call on one line; nothing if there is none. */
function inWords({ name, args }) {
  return name && `${name} ${plain(args ?? {})}`.slice(0, ONE_LINE);
}

/** Return the question without the call that LangChain writes below it, which the card shows by itself. */
function questionOf({ message, name }) {
  const text = typeof message === "string" && message ? message : "The agent is waiting for your answer.";
  const at = name ? text.indexOf(`\n\nTool: ${name}\nArgs:`) : -1;
  return at < 0 ? text : text.slice(0, at);
}

/** The arguments of a call: for reading, and in a form while the person edits them. */
class Arguments {
  element = make("div", { className: "question-args" });
  #args;
  #makeForm;
  #form;
  /** The form's first values: the arguments with the defaults of the schema. */
  #before;
  #touched = false;

  /** `makeForm()` returns a form that is filled with `args`; `onInput()` is called when the person has changed it. */
  constructor(args, makeForm, onInput) {
    this.#args = args;
    this.#makeForm = makeForm;
    this.discard();
    this.element.addEventListener("input", ({ target }) => {
      this.#touched ||= target !== this.element;
      onInput();
    });
  }

  get isOpen() {
    return this.#form !== undefined;
  }

  /** Whether the person has made other arguments. Those that the model got wrong fit no form, and are no change. */
  get isChanged() {
    const isSame = (one) => one !== ABSENT && same(this.#form.value, one);
    return this.isOpen && this.#touched && ![this.#args, this.#before].some(isSame);
  }

  edit() {
    this.#form = this.#makeForm();
    this.#before = this.#form.value;
    this.#touched = false;
    this.element.replaceChildren(this.#form.element);
  }

  discard() {
    this.#form = undefined;
    this.element.replaceChildren(...[facts(this.#args)].filter(Boolean));
  }

  /** Return the edited arguments, or ABSENT if they do not fit, which the form then shows. */
  read() {
    return this.#form.read();
  }
}

function addApproval(card, interrupt, approval, { name, args }, thread, resolve, { json, cancel, folds }) {
  const { approve, edit, reject, respond, takesReason, extra } = approval;
  const others = extra && new Form(extra, { roots: [extra, interrupt.responseSchema] });
  const payload = (own) => {
    const rest = others ? others.read() : {};
    return rest === ABSENT || own === ABSENT ? ABSENT : { ...rest, ...own };
  };
  const mayEdit = edit !== undefined && isObject(args);
  const isEdit = () => mayEdit && (!approve || given.isChanged);
  const refresh = () => {
    approveButton.textContent = isEdit() ? "Approve with changes" : "Approve";
    editButton.textContent = given.isOpen ? "Discard edits" : "Edit";
  };
  const given = new Arguments(args, () => argumentForm(interrupt, approval, name, args, thread), refresh);
  const approveAll = () => {
    if (!isEdit()) return resolve("Approve", () => payload(approve()));
    const edited = () => {
      const value = given.read();
      return payload(value === ABSENT ? ABSENT : edit(value));
    };
    return resolve("Approve with changes", edited);
  };
  const approveButton = button("Approve", approveAll, "primary");
  const editButton = button("Edit", () => {
    if (given.isOpen) given.discard();
    else given.edit();
    given.element.querySelector("input, select, textarea, button")?.focus();
    changed(given.element);
  });
  if (mayEdit && !approve) given.edit();
  refresh();
  const tool = name && make("p", { className: "question-tool" }, make("code", {}, name));
  const part = make("div", { className: "question-call" }, tool, given.element, others?.element);
  const mayApprove = approve || mayEdit;
  if (mayApprove) onEnter(part, approveAll);
  const refuse = (text) => resolve("Reject", () => payload(reject(text)));
  const answer = (text) => resolve("Respond", () => payload(respond(needed(text, "Type what to respond."))));
  const ways = [
    reject && takesReason && { label: "Reject with a reason", field: "Reason", send: refuse },
    respond && { label: "Respond", field: "Result to give instead of the call", send: answer },
    json,
  ];
  const more = moreOf(ways, { cancel, folds });
  const rejectButton = button("Reject", () => refuse(""));
  const buttons = [mayApprove && approveButton, approve && mayEdit && editButton, reject && rejectButton];
  card.add(part, row(...buttons, more.toggle), more.panel);
  if (!mayApprove && !reject) more.open(true);
}

/** Return the form for the arguments, by the schema that the interrupt or the agent has for them, or by themselves. */
function argumentForm({ responseSchema }, { argsSchema }, name, args, thread) {
  const tool = thread.capabilities?.tools?.items?.find((item) => item.name === name)?.parameters;
  const known = [argsSchema, tool].find((schema) => isObject(schema?.properties));
  const own = inferred(args);
  if (!known) return new Form(own, { value: args });
  // Arguments that the schema lacks get fields by their values.
  const properties = { ...own.properties, ...known.properties };
  const roots = [known, tool, responseSchema?.properties?.editedArgs, responseSchema];
  return new Form({ ...known, type: "object", properties }, { value: args, roots });
}

/**
 * Return what is needed less often: {toggle, panel, open}, a button and what it shows.
 *
 * The panel has the ways to answer, one at a time, the button `cancel` and what the agent has sent, `folds`. A way is
 * {label, field, send(text), lines?, value?}.
 */
function moreOf(given, { cancel, folds }) {
  const name = `more-${(cards += 1)}`;
  const ways = given.filter(Boolean).map((way, at) => wayOf(way, name, at === 0));
  const choice = make("fieldset", { className: "question-ways", hidden: ways.length < 2 });
  choice.append(make("legend", { className: "unseen" }, "Answer with"), ...ways.map(({ option }) => option));
  const show = () => ways.forEach(({ part, radio }) => (part.hidden = !radio.checked));
  const act = () => {
    const { control, send } = ways.find(({ radio }) => radio.checked);
    send(control.value.trim());
  };
  const form = make("div", { className: "question-form" }, choice, ...ways.map(({ part }) => part));
  form.append(row(button("Send", act), cancel));
  choice.addEventListener("change", show);
  onEnter(form, act);
  show();
  const panel = make("div", { className: "question-panel", id: name, hidden: true }, form, ...folds.filter(Boolean));
  const toggle = button("More", () => open(panel.hidden), "question-toggle");
  toggle.setAttribute("aria-controls", name);
  const open = (isOpen) => {
    panel.hidden = !isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) panel.scrollIntoView({ block: "nearest" });
  };
  open(false);
  return { toggle, panel, open };
}

/** Return a way to answer with its controls: `option` chooses it by its `radio`, and `part` has its `control`. */
function wayOf({ label, field, send, lines, value = "" }, name, checked) {
  const control = lines
    ? make("textarea", { rows: lines, spellcheck: false, className: "field-json", value })
    : make("input", { type: "text", autocomplete: "off" });
  const radio = make("input", { type: "radio", name, checked });
  const option = make("label", { className: "question-way" }, radio, label);
  return { send, control, radio, option, part: make("label", {}, field, control) };
}

function needed(text, problem) {
  if (!text) throw new Error(problem);
  return text;
}

// -- questions -----------------------------------------------------------------------------------------------------

function addQuestion(card, interrupt, resolve, { json, cancel, folds }) {
  const { responseSchema: schema, metadata } = interrupt;
  const value = metadata?.value;
  const entries = isObject(value) ? Object.entries(value).filter(([key]) => !SHOWN_ELSEWHERE.includes(key)) : [];
  const more = moreOf([json], { folds });
  card.add(facts(Array.isArray(value) ? value : Object.fromEntries(entries)));
  const choices = choicesOf(interrupt);
  if (choices.length > 0) {
    const [first] = choices;
    const buttons = choices.map((choice) => {
      const { label, payload } = choice;
      return button(label, () => resolve(label, () => payload), choice === first ? "primary" : "");
    });
    const sendText = (text) => resolve("Send", () => needed(text, "Type an answer."));
    const words = takesText(interrupt) && wordsForm("Another answer", sendText);
    card.add(row(...buttons, cancel, more.toggle), words, more.panel);
  } else {
    const form = new Form(schema, { label: typeof schema.title === "string" ? schema.title : "Answer" });
    const send = () => resolve("Send", () => form.read());
    onEnter(form.element, send);
    const part = make("div", { className: "question-call" }, form.element);
    card.add(part, row(button("Send", send, "primary"), cancel, more.toggle), more.panel);
  }
}

/** Return a line with a text and the button that sends it. */
function wordsForm(name, send) {
  const field = make("input", { type: "text", autocomplete: "off" });
  const act = () => send(field.value.trim());
  const form = make("div", { className: "question-words" }, make("label", {}, name, field), button("Send", act));
  onEnter(form, act);
  return form;
}

/** Return the way to answer with any JSON. */
function jsonWay({ responseSchema }, approval, args, resolve) {
  const value = approval?.edit && args ? JSON.stringify(approval.edit(args), null, 2) : "";
  const send = (text) => resolve("JSON", () => {
    const answer = parsed(text);
    if (answer === undefined) throw new Error("That is not JSON.");
    // The agent takes more forms of an approval than its schema names.
    const schema = approval ? {} : responseSchema;
    const [problem] = check(answer, schema, new Schemas(schema));
    if (problem) throw new Error(`${["The answer", ...problem.path].join(" › ")} ${problem.text}.`);
    return answer;
  });
  const lines = Math.min(12, Math.max(3, value.split("\n").length));
  return { label: "JSON", field: "JSON answer", lines, value, send };
}

// -- calls of the page's own tools ---------------------------------------------------------------------------------

/** Return the card of a call that the page answers. `give` gets {content, error?} and the name of the answer. */
export function callCard({ value: call }, thread, give, takeBack) {
  const message = `The agent calls ${call.name}. What is the result?`;
  const card = new Card({ message, who: askers(thread, call), kind: "call" }, give, takeBack);
  const args = parsed(call.args);
  const field = make("textarea", { rows: 2 });
  const send = () => card.answer("Send result", () => {
    return { content: needed(field.value, "Type the result: text or JSON.") };
  });
  const fail = () => card.answer("Report an error", () => {
    const text = needed(field.value.trim(), "Type what went wrong.");
    return { content: text, error: text };
  });
  const part = make(
    "div",
    { className: "question-call" },
    args === undefined && call.args ? make("pre", {}, call.args) : facts(args),
    make("label", {}, "Result (text or JSON)", field),
  );
  onEnter(part, send);
  card.add(part, row(button("Send result", send, "primary"), button("Report an error", fail)));
  return card;
}

// -- shared --------------------------------------------------------------------------------------------------------

/** Return the subagent that asks, after its parents; nothing when the agent itself asks. */
function askers(thread, { subagentRunId }) {
  const ids = new Set();
  for (let id = subagentRunId; id && !ids.has(id); id = thread.subagents.get(id)?.parent) ids.add(id);
  return [...ids].reverse().map((id) => thread.nameOf(id)).join(" › ");
}

function split(text) {
  const end = text.indexOf("\n");
  const first = end < 0 ? text : text.slice(0, end);
  if (first.length > ONE_LINE) return ["The agent asks", text];
  return [first, text.slice(first.length).trim()];
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Show data for reading: the members of an object as names and values; nothing if there are none. */
function facts(value) {
  if (value === undefined) return undefined;
  if (!isObject(value)) return make("pre", {}, pretty(JSON.stringify(value)));
  const pair = ([name, one]) => {
    const text = pretty(plain(one));
    return make("div", {}, make("dt", {}, name), make("dd", isLong(text) ? { tabIndex: 0 } : {}, text));
  };
  const pairs = Object.entries(value).map(pair);
  return pairs.length > 0 ? make("dl", { className: "question-facts" }, ...pairs) : undefined;
}

const row = (...parts) => make("div", { className: "question-actions" }, ...parts.filter(Boolean));
const fold = (label, ...content) => make("details", {}, make("summary", {}, label), ...content);

function foldJson(label, value) {
  if (!isObject(value) || Object.keys(value).length === 0) return undefined;
  return fold(label, make("pre", { tabIndex: 0 }, JSON.stringify(value, null, 2)));
}

/** Call `act` on Enter in a field of one line, and on Ctrl or Cmd with Enter in any. */
function onEnter(element, act) {
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.repeat) return;
    const oneLine = event.target.matches("input:not([type=checkbox], [type=radio])");
    if (!oneLine && !((event.ctrlKey || event.metaKey) && event.target.matches("input, textarea, select"))) return;
    event.preventDefault();
    act();
  });
}
