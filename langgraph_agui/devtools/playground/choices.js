// Which answers an interrupt takes, by its schema, or without one by its reason. The terminal has the same rules.

import { fixedValues, isObject, Schemas } from "./schema.js";

const LABELS = { approve: "Approve", reject: "Reject", respond: "Respond", edit: "Edit" };
// The fields of an approval that have a control of their own, or none.
const APPROVAL_FIELDS = ["type", "approved", "editedArgs", "edited_action", "message", "reason"];
// As many answers become buttons, and as long ones; others are chosen in a form.
const MAX_BUTTONS = 20;
const MAX_LABEL = 60;

const isEmpty = (schema) => !isObject(schema) || Object.keys(schema).length === 0;

/**
 * Return how an approval is answered; undefined if `interrupt` is none.
 *
 * {approve, edit, reject, respond}: functions that return payloads, missing where the agent takes no such answer.
 * `edit` takes the arguments, `reject` and `respond` a text. `takesReason`: whether `reject` uses its text.
 * `argsSchema`: the schema of the arguments. `extra`: the schema of what else belongs to the answer.
 */
export function approvalOf({ reason, responseSchema, metadata }) {
  if (isEmpty(responseSchema)) return reason === "tool_call" ? plainApproval({ takesReason: true }) : undefined;
  const schemas = new Schemas(responseSchema);
  const schema = schemas.resolve(responseSchema);
  const options = schema.anyOf?.map((option) => schemas.resolve(option));
  if (options) return decisions(options, schemas, metadata?.name);
  const properties = schema.properties ?? {};
  const property = (name) => (Object.hasOwn(properties, name) ? schemas.resolve(properties[name]) : undefined);
  const approved = property("approved");
  const allowed = property("type")?.enum;
  if (!(approved && approved.type === "boolean") && !allowed?.includes("respond")) return undefined;
  const may = (decision) => !allowed || allowed.includes(decision);
  const takesReason = ["message", "reason"].find((name) => property(name));
  const rest = Object.entries(properties).filter(([name]) => !APPROVAL_FIELDS.includes(name));
  const respond = (message) => ({ ...(approved && { approved: false }), type: "respond", message });
  const extra = { type: "object", properties: Object.fromEntries(rest), required: schema.required ?? [] };
  return {
    ...plainApproval({
      takesReason,
      approve: approved !== undefined && approved.const !== false && may("approve"),
      edit: approved !== undefined && property("editedArgs") !== undefined && may("edit"),
      reject: approved !== undefined && approved.const !== true && may("reject"),
    }),
    ...(allowed?.includes("respond") && { respond }),
    argsSchema: property("editedArgs"),
    ...(rest.length > 0 && { extra }),
  };
}

/** Return the answers in AG-UI's own form. */
function plainApproval({ takesReason, approve = true, edit = false, reject = true }) {
  const name = takesReason === true ? "message" : takesReason;
  return {
    ...(approve && { approve: () => ({ approved: true }) }),
    ...(edit && { edit: (editedArgs) => ({ approved: true, editedArgs }) }),
    ...(reject && { reject: (text) => ({ approved: false, ...(text && { [name]: text }) }) }),
    takesReason: Boolean(takesReason),
  };
}

/** Return the answers in LangChain's form, if all `options` are decisions of it. */
function decisions(options, schemas, name) {
  const member = (option, key) => {
    const properties = option.properties ?? {};
    return Object.hasOwn(properties, key) ? schemas.resolve(properties[key]) : undefined;
  };
  const typeOf = (option) => {
    const type = member(option, "type");
    return type && fixedValues(type, schemas)?.length === 1 ? fixedValues(type, schemas)[0].value : undefined;
  };
  const found = new Map(options.map((option) => [typeOf(option), option]));
  const areDecisions = [...found.keys()].every((type) => Object.hasOwn(LABELS, type ?? ""));
  if (found.size < options.length || !areDecisions) return undefined;
  const takesReason = member(found.get("reject") ?? {}, "message") !== undefined;
  const edited = member(found.get("edit") ?? {}, "edited_action");
  return {
    ...(found.has("approve") && { approve: () => ({ type: "approve" }) }),
    ...(found.has("edit") && { edit: (args) => ({ type: "edit", edited_action: { name, args } }) }),
    ...(found.has("reject") && { reject: (text) => ({ type: "reject", ...(text && { message: text }) }) }),
    ...(found.has("respond") && { respond: (message) => ({ type: "respond", message }) }),
    takesReason,
    argsSchema: edited && member(edited, "args"),
  };
}

/** Return the answers that become buttons, as [{label, payload}]; none if a form has to be filled in. */
export function choicesOf({ responseSchema }) {
  if (isEmpty(responseSchema)) return yesAndNo();
  const schemas = new Schemas(responseSchema);
  const schema = schemas.resolve(responseSchema);
  const choices = fixedChoices(schema, schemas) ?? [];
  const fit = choices.length <= MAX_BUTTONS && choices.every(({ label }) => label.length <= MAX_LABEL);
  return fit ? choices : [];
}

function yesAndNo(wrap = (payload) => payload) {
  return [{ label: "Yes", payload: wrap(true) }, { label: "No", payload: wrap(false) }];
}

function fixedChoices(schema, schemas) {
  const none = schema.nullable ? [{ label: "None", payload: null }] : [];
  const values = fixedValues(schema, schemas);
  if (values) return [...values.map(({ label, value }) => ({ label, payload: value })), ...none];
  if (schema.type === "boolean") return [...yesAndNo(), ...none];
  if (schema.anyOf) {
    const options = schema.anyOf.map((option) => onlyAnswer(schemas.resolve(option), schemas));
    return options.every(Boolean) ? [...options, ...none] : undefined;
  }
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length !== 1 || none.length > 0) return undefined;
  // An object with one property is a question with one answer.
  const [[name, raw]] = entries;
  const inner = fixedChoices(schemas.resolve(raw), schemas);
  return inner?.map(({ label, payload }) => ({ label, payload: Object.fromEntries([[name, payload]]) }));
}

/** Return the one answer that fits `option`, if it needs no other fields than fixed ones. */
function onlyAnswer(option, schemas) {
  const single = (schema) => {
    const values = fixedValues(schema, schemas);
    return values?.length === 1 ? values[0] : undefined;
  };
  if (single(option)) return { label: single(option).label, payload: single(option).value };
  if (!option.properties) return undefined;
  const members = Object.entries(option.properties).map(([name, raw]) => [name, single(schemas.resolve(raw))]);
  if (members.length === 0 || !members.every(([, value]) => value)) return undefined;
  const words = members.map(([, { value, label }]) => (Object.hasOwn(LABELS, value) ? LABELS[value] : label));
  const label = option.title ?? words.join(", ");
  return { label, payload: Object.fromEntries(members.map(([name, { value }]) => [name, value])) };
}

/** Whether any text answers `interrupt`: it asks for input and names no schema. */
export function takesText({ reason, responseSchema }) {
  return isEmpty(responseSchema) && reason === "input_required";
}

/** Return an `expiresAt` in milliseconds, NaN if it is no time. A time without a zone is UTC. */
export function timeOf(expiresAt) {
  if (typeof expiresAt !== "string") return NaN;
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(expiresAt) || !expiresAt.includes("T");
  return Date.parse(zoned ? expiresAt : `${expiresAt}Z`);
}
