// Forms from JSON Schema: a field for each value, which shows what it expects and marks what does not fit.
//
// A field is {element, read(report), rename?(label)}. `read` returns the value, ABSENT for none, and reports problems.

import { changed, make } from "./dom.js";
import { ABSENT, check, expected, fixedValues, isObject, same, Schemas } from "./schema.js";

// Beyond these, a field takes JSON: a schema may refer to itself, or be larger than anyone fills in.
const MAX_DEPTH = 6;
const MAX_FIELDS = 400;
const MAX_ROWS = 100;
// Longer text gets a box of several lines.
const ONE_LINE = 80;

const INPUT_TYPES = { email: "email", uri: "url" };
// The browser's own controls for dates and times.
const MOMENTS = { date: "date", time: "time", "date-time": "datetime-local" };
const HINTED = "textarea, [type=text], [type=email], [type=url], [type=number]";

let fields = 0;

/** A form for one value. It sends `input` events from its element whenever the value may have changed. */
export class Form {
  #field;

  /** `value` fills the fields; `roots` are the documents that the references of `schema` may point into. */
  constructor(schema, { value = ABSENT, label = "Answer", roots = [schema] } = {}) {
    const context = { schemas: new Schemas(...roots), left: MAX_FIELDS };
    this.#field = field(context, schema, { label, value, required: true, depth: 0 });
    this.element = this.#field.element;
  }

  /** Return the value. Where fields do not fit, mark them, move the focus to the first one, and return ABSENT. */
  read() {
    let first;
    const value = this.#field.read((control, problem, text) => {
      setProblem(control, problem, text);
      if (text) first ??= control;
    });
    first?.focus();
    return first ? ABSENT : value;
  }

  /** The value as it is now; ABSENT where a field does not fit. Nothing is marked. */
  get value() {
    let fits = true;
    const value = this.#field.read((control, problem, text) => (fits &&= !text));
    return fits ? value : ABSENT;
  }
}

function setProblem(control, problem, text) {
  problem.textContent = text;
  problem.hidden = !text;
  if (!control.matches("input, select, textarea")) return;
  if (text) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

function field(context, raw, place) {
  const schema = context.schemas.resolve(raw);
  if (place.value === ABSENT && Object.hasOwn(schema, "default")) place = { ...place, value: schema.default };
  const kind = kindOf(context, schema, place);
  context.left -= 1;
  const empty = place.value === ABSENT || place.value === null;
  if (["object", "list", "variants"].includes(kind) && empty && (!place.required || schema.nullable)) {
    return optional(context, schema, place, MAKERS[kind]);
  }
  return MAKERS[kind](context, schema, place);
}

/** Return which field takes the values of a schema; JSON, where the given value would not survive any other. */
function kindOf(context, schema, { value, depth }) {
  const fixed = fixedValues(schema, context.schemas);
  const shape = fixed ? "choice" : shapeOf(schema);
  if (depth > MAX_DEPTH || context.left <= 0) return fixed ? shape : "json";
  if (shape === "object" && Object.keys(schema.properties ?? {}).length > context.left) return "json";
  if (value === ABSENT || (value === null && schema.nullable)) return shape;
  const survives = {
    choice: () => fixed.some((one) => same(one.value, value)),
    object: () => isObject(value),
    list: () => Array.isArray(value) && value.length <= MAX_ROWS,
    text: () => typeof value === "string",
    number: () => typeof value === "number",
    flag: () => typeof value === "boolean",
  }[shape];
  return !survives || survives() ? shape : "json";
}

function shapeOf(schema) {
  if (schema.properties) return "object";
  if (schema.anyOf) return "variants";
  if (schema.type === "object" && schema.additionalProperties === false) return "object";
  if (schema.type === "array" && schema.items) return "list";
  return { string: "text", integer: "number", number: "number", boolean: "flag" }[schema.type] ?? "json";
}

const MAKERS = { choice, object, list, variants, text, number, flag, json };

// -- one value -----------------------------------------------------------------------------------------------------

/** Return the field around `control`; `parse` returns its value, ABSENT when it is empty, or throws what is wrong. */
function single(context, schema, place, control, parse) {
  let { label } = place;
  const id = `field-${(fields += 1)}`;
  const title = make("label", { htmlFor: id, className: "field-label" }, label);
  const problem = make("p", { id: `${id}-problem`, className: "field-problem", hidden: true });
  const notes = describe(schema, id, place, control.matches(HINTED));
  control.id = id;
  control.setAttribute("aria-describedby", [...notes.map((note) => note.id), problem.id].join(" "));
  const isCheck = control.type === "checkbox";
  const takesNothing = !place.required || schema.nullable;
  if (!takesNothing && !isCheck && control.tagName !== "OUTPUT") control.setAttribute("aria-required", "true");
  const head = make("div", { className: "field-head" }, title, takesNothing && !isCheck ? optionalMark() : null);
  const read = (report) => {
    let text = "";
    let value = ABSENT;
    try {
      value = parse();
      if (value === ABSENT) value = emptyValue(schema, place);
      if (value === undefined) text = `${label} is required: ${expected(schema)}.`;
      else if (value !== ABSENT) text = problemIn(label, value, schema, context);
    } catch (error) {
      text = `${label} ${error.message}`;
    }
    report(control, problem, text);
    return text ? ABSENT : value;
  };
  const rename = (given) => (title.textContent = label = given);
  return { element: make("div", { className: "field" }, head, control, ...notes, problem), read, rename };
}

/** Return what an empty field stands for: nothing, null, the empty text that was there, or undefined for no answer. */
function emptyValue(schema, { required, value }) {
  if (value === "" && !schema.enum) return "";
  if (schema.nullable && (required || value === null)) return null;
  return required ? undefined : ABSENT;
}

function problemIn(label, value, schema, { schemas }) {
  const [problem] = check(value, schema, schemas);
  return problem ? `${[label, ...problem.path].join(" › ")} ${problem.text}.` : "";
}

function optionalMark() {
  return make("span", { className: "field-mark" }, "optional");
}

/** Return the lines below a label: the description, and the constraint in words where there is one. */
function describe(schema, id, place, constrained = true) {
  const words = expected({ ...schema, nullable: false });
  const obvious = ["text", "a number", "true or false", "a list", "an object", "one of the expected forms"];
  const plain = obvious.includes(words);
  const object = schema.properties !== undefined;
  const hint = constrained && !plain && !object ? `${words[0].toUpperCase()}${words.slice(1)}.` : "";
  const line = (text, name) => text && make("p", { id: `${id}-${name}`, className: `field-${name}` }, text);
  return [line(schema.description, "description"), line(hint, "hint")].filter(Boolean);
}

function text(context, schema, place) {
  const given = typeof place.value === "string" ? place.value : "";
  const moment = MOMENTS[schema.format] && momentOf(given, MOMENTS[schema.format]);
  if (moment) return single(context, schema, place, moment.control, moment.parse);
  const long = given.includes("\n") || given.length > ONE_LINE || schema.maxLength > 2 * ONE_LINE;
  const type = schema.writeOnly ? "password" : (INPUT_TYPES[schema.format] ?? "text");
  const control = long
    ? make("textarea", { rows: Math.min(12, Math.max(3, given.split("\n").length)), value: given })
    : make("input", { type, value: given, autocomplete: "off" });
  return single(context, schema, place, control, () => control.value || ABSENT);
}

/** Return {control, parse} for a date or a time; nothing if the browser's control cannot show `given`. */
function momentOf(given, type) {
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(given);
  const isLocal = type === "datetime-local";
  const control = make("input", { type, value: isLocal && hasZone ? localTime(given) : given.replace(" ", "T") });
  const first = control.value;
  if (given && (!first || (type === "time" && hasZone))) return undefined;
  const parse = () => {
    const { value, validity } = control;
    if (validity.badInput) throw new Error("is not complete.");
    if (value === first) return given || ABSENT; // in the form in which it came
    if (!value || type === "date") return value || ABSENT;
    const whole = value.length === "2026-01-31T12:00".length || value.length === "12:00".length ? `${value}:00` : value;
    return isLocal && (hasZone || !given) ? `${whole}${offsetOf(new Date(value))}` : whole;
  };
  return { control, parse };
}

/** Return a time of any zone as the clock here shows it. */
function localTime(given) {
  const time = new Date(given);
  if (Number.isNaN(time.valueOf())) return "";
  return new Date(time - time.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

function offsetOf(time) {
  const minutes = -time.getTimezoneOffset();
  const two = (count) => String(Math.floor(Math.abs(count))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function number(context, schema, place) {
  const value = typeof place.value === "number" ? String(place.value) : "";
  const control = make("input", { type: "number", autocomplete: "off" });
  const isWhole = schema.type === "integer";
  const bounds = { min: schema.minimum, max: schema.maximum, step: schema.multipleOf ?? (isWhole ? 1 : "any") };
  for (const [name, bound] of Object.entries(bounds)) if (bound !== undefined) control.setAttribute(name, bound);
  control.value = value;
  return single(context, schema, place, control, () => {
    if (control.validity.badInput) throw new Error(`must be ${expected(schema)}.`);
    return control.value === "" ? ABSENT : Number(control.value);
  });
}

function flag(context, schema, place) {
  if (typeof place.value !== "boolean" && (!place.required || schema.nullable)) {
    const answers = [{ label: "Yes", value: true }, { label: "No", value: false }];
    return select(context, schema, place, answers);
  }
  const control = make("input", { type: "checkbox", checked: place.value === true });
  return single(context, schema, place, control, () => control.checked);
}

function choice(context, schema, place) {
  const values = fixedValues(schema, context.schemas);
  if (!Object.hasOwn(schema, "const")) return select(context, schema, place, values);
  if (typeof schema.const === "boolean" && place.required) return flag(context, schema, place);
  const shown = make("output", {}, values[0].label);
  return single(context, schema, place, shown, () => schema.const);
}

function select(context, schema, place, values) {
  const none = place.required && !schema.nullable ? "Choose…" : "None";
  const options = values.map(({ label }, at) => make("option", { value: String(at) }, label));
  const control = make("select", {}, make("option", { value: "" }, none), ...options);
  const given = values.findIndex(({ value }) => same(value, place.value));
  control.value = given < 0 ? "" : String(given);
  return single(context, schema, place, control, () => (control.value === "" ? ABSENT : values[control.value].value));
}

function json(context, schema, place) {
  const value = place.value === ABSENT ? "" : JSON.stringify(place.value, null, 2);
  const rows = Math.min(12, Math.max(2, value.split("\n").length));
  const control = make("textarea", { className: "field-json", rows, spellcheck: false, value });
  return single(context, schema, place, control, () => {
    if (control.value.trim() === "") return ABSENT;
    try {
      return JSON.parse(control.value);
    } catch (error) {
      throw new Error(`must be JSON: ${error.message}`);
    }
  });
}

// -- values of several parts ---------------------------------------------------------------------------------------

function group(label, ...parts) {
  const legend = make("legend", { className: "field-label" }, label);
  const element = make("fieldset", { className: "field field-group" }, legend, ...parts);
  return { element, rename: (given) => (legend.textContent = given) };
}

function object(context, schema, place) {
  const { depth } = place;
  const given = isObject(place.value) ? place.value : {};
  const properties = Object.entries(schema.properties ?? {});
  const names = new Set(properties.map(([name]) => name));
  // Values that the schema does not name are kept as they are.
  const rest = Object.entries(given).filter(([name]) => !names.has(name)).map(([name]) => [name, {}]);
  const parts = [...properties, ...rest].map(([name, raw]) => {
    const value = Object.hasOwn(given, name) ? given[name] : ABSENT;
    const required = (schema.required ?? []).includes(name);
    const label = typeof raw?.title === "string" && raw.title ? raw.title : name;
    return [name, field(context, raw, { label, value, required, depth: depth + 1 })];
  });
  const read = (report) => {
    const values = parts.map(([name, part]) => [name, part.read(report)]);
    return Object.fromEntries(values.filter(([, value]) => value !== ABSENT));
  };
  const elements = parts.map(([, part]) => part.element);
  if (depth === 0 || place.bare) {
    const notes = depth === 0 ? describe(schema, `field-${(fields += 1)}`, place) : [];
    return { element: make("div", { className: "field-parts" }, ...notes, ...elements), read };
  }
  const notes = describe(schema, `field-${(fields += 1)}`, place);
  return { ...group(place.label, ...notes, ...elements), read };
}

function list(context, schema, place) {
  let { label } = place;
  const id = `field-${(fields += 1)}`;
  const rows = [];
  const box = make("div", { className: "field-rows" });
  const add = make("button", { type: "button" }, "Add");
  const problem = make("p", { id: `${id}-problem`, className: "field-problem", hidden: true });
  const renumber = () => rows.forEach((row, at) => row.rename(`${label} ${at + 1}`));
  const append = (value) => {
    const part = field(context, schema.items, { label: "", value, required: true, depth: place.depth + 1 });
    const remove = make("button", { type: "button" }, "Remove");
    const element = make("div", { className: "field-row" }, part.element, remove);
    const rename = (name) => {
      part.rename?.(name);
      remove.setAttribute("aria-label", `Remove ${name}`);
    };
    const row = { read: part.read, element, rename };
    remove.addEventListener("click", () => {
      rows.splice(rows.indexOf(row), 1);
      changed(box);
      element.remove();
      renumber();
      add.focus();
    });
    rows.push(row);
    box.append(element);
    renumber();
  };
  add.addEventListener("click", () => {
    context.left = Math.max(context.left, MAX_ROWS);
    append(ABSENT);
    rows.at(-1).element.querySelector("input, select, textarea, button")?.focus();
    changed(box);
  });
  add.setAttribute("aria-label", `Add ${label}`);
  add.setAttribute("aria-describedby", problem.id);
  const given = Array.isArray(place.value) ? place.value : [];
  for (const value of given) append(value);
  if (place.value === ABSENT) while (rows.length < Math.min(schema.minItems ?? 0, 20)) append(ABSENT);
  const read = (report) => {
    const value = rows.map((row) => row.read(report));
    const text = value.includes(ABSENT) ? "" : problemIn(label, value, { ...schema, items: {} }, context);
    report(add, problem, text);
    return value.length === 0 && !place.required && place.value === ABSENT ? ABSENT : value;
  };
  const whole = group(label, ...describe(schema, id, place), box, add, problem);
  const rename = (name) => {
    label = name;
    whole.rename(name);
    renumber();
  };
  return { element: whole.element, read, rename };
}

function variants(context, schema, place) {
  const options = schema.anyOf.map((option) => context.schemas.resolve(option));
  const fits = (option) => place.value !== ABSENT && check(place.value, option, context.schemas).length === 0;
  const fitting = options.findIndex(fits);
  const pick = make("select", { id: `field-${(fields += 1)}` });
  const names = options.map((option, at) => nameOf(option, at, context.schemas));
  pick.append(...names.map((name, at) => make("option", { value: String(at) }, name)));
  pick.value = String(Math.max(fitting, 0));
  const title = make("label", { htmlFor: pick.id, className: "field-label" }, place.label);
  const box = make("div", { className: "field-parts" });
  let part;
  const show = (value) => {
    const at = Number(pick.value);
    context.left = Math.max(context.left, MAX_ROWS);
    const label = pick.options[at].textContent;
    part = field(context, options[at], { label, value, required: true, depth: place.depth + 1, bare: true });
    box.replaceChildren(part.element);
  };
  pick.addEventListener("change", () => {
    show(ABSENT);
    changed(box);
  });
  show(place.value);
  const head = make("div", { className: "field-head" }, title, place.required ? null : optionalMark());
  const notes = describe(schema, pick.id, place);
  const element = make("div", { className: "field field-variants" }, head, pick, ...notes, box);
  const rename = (name) => (title.textContent = name);
  return { element, read: (report) => part.read(report), rename };
}

/** Return the name of a variant: its title, the fixed value that tells it from the others, or its type. */
function nameOf(option, at, schemas) {
  if (option.title) return option.title;
  const members = Object.values(option.properties ?? {}).map((raw) => schemas.resolve(raw));
  const constants = members.filter((one) => Object.hasOwn(one, "const"));
  const numbers = { integer: "Whole number", number: "Number" };
  const types = { ...numbers, string: "Text", boolean: "Yes or no", array: "List", object: "Object" };
  return constants.length > 0 ? String(constants[0].const) : (types[option.type] ?? `Form ${at + 1}`);
}

/** Return a field that stands for nothing until it is added. A schema that refers to itself ends here. */
function optional(context, schema, place, maker) {
  let part;
  const box = make("div", { className: "field-parts" });
  const toggle = make("button", { type: "button" }, `Add ${place.label}`);
  toggle.addEventListener("click", () => {
    if (part) {
      part = undefined;
      box.replaceChildren();
    } else {
      context.left = Math.max(context.left, MAX_ROWS);
      part = maker(context, schema, { ...place, value: ABSENT, required: true });
      box.replaceChildren(part.element);
    }
    toggle.textContent = `${part ? "Remove" : "Add"} ${place.label}`;
    changed(box);
  });
  const nothing = schema.nullable && (place.required || place.value === null) ? null : ABSENT;
  const read = (report) => (part ? part.read(report) : nothing);
  return { element: make("div", { className: "field field-optional" }, box, toggle), read };
}
