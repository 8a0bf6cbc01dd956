// JSON Schema as forms need it: resolved, put into words, and checked. Schemas come from agents, so none may throw.

/** Stands for a value that is not there, which JSON cannot say. */
export const ABSENT = Symbol("absent");

// A hostile schema may refer to itself in ways that would never end: the agent checks the rest.
const MAX_STEPS = 20_000;

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number";
const isFlag = (value) => typeof value === "boolean";
const isFilled = (value) => Array.isArray(value) && value.length > 0;
const isAny = () => true;

const TYPES = {
  string: isText,
  number: isNumber,
  integer: Number.isInteger,
  boolean: isFlag,
  object: isObject,
  array: Array.isArray,
  null: (value) => value === null,
};

// The keywords that are read, and what each has to be; one that is anything else counts as missing.
const KEYWORDS = {
  type: (value) => isText(value) && Object.hasOwn(TYPES, value),
  title: isText,
  description: isText,
  default: isAny,
  const: isAny,
  enum: isFilled,
  anyOf: isFilled,
  properties: isObject,
  required: Array.isArray,
  additionalProperties: (value) => isObject(value) || isFlag(value),
  items: isObject,
  minItems: isNumber,
  maxItems: isNumber,
  uniqueItems: isFlag,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && value > 0,
  minLength: isNumber,
  maxLength: isNumber,
  pattern: isText,
  format: isText,
  writeOnly: isFlag,
  nullable: isFlag,
};

const FORMATS = {
  email: ["an e-mail address", (text) => /^\S+@\S+$/.test(text)],
  uri: ["a URL", (text) => URL.canParse(text)],
  date: ["a date such as 2026-01-31", (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))],
  time: ["a time such as 12:00:00", (text) => /^\d\d:\d\d(:\d\d)?/.test(text)],
  "date-time": ["a time such as 2026-01-31T12:00:00Z", (text) => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(text)],
};

/** Resolves the references of a schema in the documents that it may mean. */
export class Schemas {
  #roots;

  constructor(...roots) {
    this.#roots = roots.filter(isObject);
  }

  /** Return `schema` with only known keywords: references followed, `allOf` joined, `null` taken out as `nullable`. */
  resolve(schema, seen = new Set()) {
    let found = isObject(schema) ? schema : {};
    let nullable = false;
    for (;;) {
      const { $ref, allOf, oneOf, ...rest } = found;
      if (isText($ref)) {
        const target = seen.has($ref) ? {} : this.#find($ref);
        seen.add($ref);
        found = { ...target, ...without(found, "$ref") };
      } else if (Array.isArray(allOf)) {
        found = allOf.map((part) => this.resolve(part, seen)).reduce(join, without(found, "allOf"));
      } else if (isFilled(oneOf) && !isFilled(rest.anyOf)) {
        found = { ...rest, anyOf: oneOf };
      } else if (Array.isArray(rest.type)) {
        const { type, ...beside } = rest;
        found = { ...beside, anyOf: type.map((one) => ({ ...beside, type: one })) };
      } else if (isFilled(rest.anyOf)) {
        const options = rest.anyOf.filter((option) => !isNull(option));
        nullable ||= options.length < rest.anyOf.length;
        if (options.length > 1) {
          found = { ...rest, anyOf: options };
          break;
        }
        // The rules outside are more precise.
        found = { ...(options[0] ?? { type: "null" }), ...without(rest, "anyOf") };
      } else break;
    }
    const known = Object.entries(found).filter(([key, value]) => Object.hasOwn(KEYWORDS, key) && KEYWORDS[key](value));
    return { ...Object.fromEntries(known), ...(nullable && { nullable }) };
  }

  #find(reference) {
    if (!reference.startsWith("#")) return {};
    const keys = reference.split("/").slice(1).map(unescapeKey);
    for (const root of this.#roots) {
      let found = root;
      const has = (key) => typeof found === "object" && found && Object.hasOwn(found, key);
      for (const key of keys) found = has(key) ? found[key] : undefined;
      if (isObject(found)) return found;
    }
    return {};
  }
}

function unescapeKey(key) {
  try {
    return decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return key;
  }
}

const isNull = (schema) => isObject(schema) && (schema.type === "null" || schema.const === null);

function without(schema, keyword) {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== keyword));
}

function join(all, part) {
  const properties = { ...part.properties, ...all.properties };
  const required = [...(part.required ?? []), ...(Array.isArray(all.required) ? all.required : [])];
  return { ...part, ...all, ...(part.properties && { properties }), ...(part.required && { required }) };
}

/** Return the fixed values of a resolved schema as [{label, value}]; undefined if other values fit it too. */
export function fixedValues(schema, schemas) {
  const label = (value) => (value === null ? "None" : isText(value) ? value : JSON.stringify(value));
  if (Object.hasOwn(schema, "const")) return [{ label: schema.title ?? label(schema.const), value: schema.const }];
  if (schema.enum) return schema.enum.map((value) => ({ label: label(value), value }));
  const options = (schema.anyOf ?? []).map((option) => schemas.resolve(option));
  if (options.length === 0 || !options.every((option) => Object.hasOwn(option, "const"))) return undefined;
  return options.map((option) => ({ label: option.title ?? label(option.const), value: option.const }));
}

/** Return a schema that fits `value` and what a person may make of it. */
export function inferred(value) {
  if (isObject(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inferred(one)]));
    return { type: "object", properties, required: Object.keys(value) };
  }
  const isOfOneType = () => value.every((one) => typeof one === typeof value[0]);
  if (isFilled(value) && ["string", "number"].includes(typeof value[0]) && isOfOneType()) {
    return { type: "array", items: { type: typeof value[0] } };
  }
  return ["string", "number", "boolean"].includes(typeof value) ? { type: typeof value } : {};
}

// -- in words ------------------------------------------------------------------------------------------------------

/** Return what a resolved schema expects, such as "a whole number from 1 to 10". */
export function expected(schema) {
  const words = wordsOf(schema);
  return schema.nullable ? `${words} or null` : words;
}

function wordsOf(schema) {
  if (Object.hasOwn(schema, "const")) return JSON.stringify(schema.const);
  if (schema.enum) {
    const values = schema.enum.slice(0, 20).map((value) => (isText(value) ? value : JSON.stringify(value)));
    return `one of ${values.join(", ")}${schema.enum.length > 20 ? " and more" : ""}`;
  }
  const join = (...words) => words.filter(Boolean).join(" ");
  const range = (low, high, unit) => bounds(low, high, (text) => `of ${text}${unit}`);
  switch (schema.type) {
    case "string":
      return join(
        FORMATS[schema.format]?.[0] ?? "text",
        range(schema.minLength, schema.maxLength, " characters"),
        schema.pattern && `that matches ${schema.pattern}`,
      );
    case "integer":
    case "number":
      return join(
        schema.type === "integer" ? "a whole number" : "a number",
        [
          bounds(schema.minimum, schema.maximum, (text, both) => `${both ? "from" : "of"} ${text}`),
          schema.exclusiveMinimum !== undefined && `greater than ${schema.exclusiveMinimum}`,
          schema.exclusiveMaximum !== undefined && `less than ${schema.exclusiveMaximum}`,
          schema.multipleOf && `in steps of ${schema.multipleOf}`,
        ].filter(Boolean).join(" and "),
      );
    case "array":
      return join("a list", range(schema.minItems, schema.maxItems, " entries"));
    case "object":
      return join("an object", schema.required?.length > 0 && `with ${schema.required.slice(0, 20).join(", ")}`);
    case "boolean":
      return "true or false";
    case "null":
      return "null";
    default:
      return schema.anyOf ? "one of the expected forms" : "JSON";
  }
}

function bounds(low, high, write) {
  if (low !== undefined && low === high) return write(`exactly ${low}`);
  if (low !== undefined && high !== undefined) return write(`${low} to ${high}`, true);
  if (low !== undefined) return write(`at least ${low}`);
  return high === undefined ? "" : write(`at most ${high}`);
}

// -- checked -------------------------------------------------------------------------------------------------------

/** Return what does not fit: [{path, text}], where the text goes on after the name of the place: "must be a number". */
export function check(value, schema, schemas) {
  const problems = [];
  let steps = 0;
  const add = (path, text) => problems.push({ path, text });
  const fits = (one, option) => {
    const before = problems.length;
    visit(one, option, []);
    return problems.splice(before).length === 0;
  };
  const visit = (one, raw, path) => {
    if ((steps += 1) > MAX_STEPS || path.length > 100) return;
    const rules = schemas.resolve(raw);
    if (one === null && rules.nullable) return;
    if (!fitsAlone(one, rules)) return void add(path, `must be ${expected(rules)}`);
    if (rules.anyOf && !rules.anyOf.some((option) => fits(one, option))) add(path, `must be ${expected(rules)}`);
    if (Array.isArray(one) && rules.items) one.forEach((entry, at) => visit(entry, rules.items, [...path, at + 1]));
    if (isObject(one)) members(one, rules, path);
  };
  const members = (one, rules, path) => {
    const properties = rules.properties ?? {};
    for (const name of rules.required ?? []) if (!Object.hasOwn(one, name)) add([...path, name], "is required");
    for (const [name, entry] of Object.entries(one)) {
      if (Object.hasOwn(properties, name)) visit(entry, properties[name], [...path, name]);
      else if (rules.additionalProperties === false) add([...path, name], "is not expected");
      else if (isObject(rules.additionalProperties)) visit(entry, rules.additionalProperties, [...path, name]);
    }
  };
  visit(value, schema, []);
  return problems;
}

/** Whether `value` fits the keywords of a resolved schema that are not about its members. */
function fitsAlone(value, schema) {
  if (Object.hasOwn(schema, "const") && !same(value, schema.const)) return false;
  if (schema.enum && !schema.enum.some((one) => same(value, one))) return false;
  if (schema.type && !TYPES[schema.type](value)) return false;
  if (isNumber(value)) return fitsNumber(value, schema);
  if (isText(value)) {
    const length = [...value].length;
    const format = FORMATS[schema.format];
    const isLong = within(length, schema.minLength, schema.maxLength);
    return isLong && matches(value, schema.pattern) && (!format || format[1](value));
  }
  if (!Array.isArray(value)) return true;
  const alike = schema.uniqueItems && value.some((one, at) => value.slice(0, at).some((other) => same(one, other)));
  return within(value.length, schema.minItems, schema.maxItems) && !alike;
}

function fitsNumber(value, { minimum, maximum, multipleOf, ...schema }) {
  const { exclusiveMinimum: above = -Infinity, exclusiveMaximum: below = Infinity } = schema;
  if (!within(value, minimum, maximum) || value <= above || value >= below) return false;
  // 0.3 is three steps of 0.1, though not in binary.
  const steps = multipleOf ? value / multipleOf : 0;
  return Math.abs(steps - Math.round(steps)) < 1e-9;
}

const within = (value, low = -Infinity, high = Infinity) => value >= low && value <= high;

function matches(text, pattern) {
  if (pattern === undefined) return true;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // it is of another dialect, so only the agent can read it
  }
}

/** Whether two JSON values are equal. */
export function same(one, other) {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((entry, at) => same(entry, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const keys = Object.keys(one);
  const both = keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key));
  return both && keys.every((key) => same(one[key], other[key]));
}
