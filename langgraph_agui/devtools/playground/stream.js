// The requests of the page. Those to the agent carry the headers that the person has set.

import { wordsOf } from "./fold.js";
import { storedHeaders } from "./store.js";
import {
  catchError,
  enforceOutgoingInput,
  parseSSEStream,
  runHttpRequest,
  tap,
  throwError,
} from "./vendor/ag-ui-client.js";

/** Return the events that restore the thread of `input` from the agent at `url`, without a run; see `runAgent`. */
export function connectThread(url, input, signal) {
  return runAgent(`${url}/connect`, input, signal);
}

/**
 * Run the agent at `url` with `input`, and return its events as an Observable.
 *
 * Its error has `lostConnection`, or the `status` and the `code` of a refusal.
 */
export function runAgent(url, input, signal) {
  const answer = runHttpRequest(async () => {
    const response = await ask(url, enforceOutgoingInput(input), signal, "text/event-stream");
    const type = response.headers.get("Content-Type") ?? "no content type";
    if (response.ok && !type.startsWith("text/event-stream")) throw new Error(`Expected an event stream, got ${type}.`);
    return response;
  });
  const check = (event) => {
    if (typeof event?.type !== "string" || event.type === "") throw new Error("An event carries no type.");
  };
  return parseSSEStream(answer).pipe(tap(check), catchError((error) => throwError(() => explained(error))));
}

/** Return the error that says why a run was not answered, or not to its end. */
function explained(error) {
  if (error.status) return refusal(error.status, error.payload);
  if (error instanceof SyntaxError) return new Error(`An event is not JSON: ${error.message}`);
  if (error instanceof TypeError) return Object.assign(error, { lostConnection: true });
  return error.issues ? new Error(wordsOf(error)) : error;
}

/** Stop a run at the agent. Return whether the agent has stopped it. */
export async function cancelRun(url, threadId, runId, signal) {
  const response = await ask(`${url}/cancel`, { threadId, runId }, signal).catch(() => undefined);
  return response?.ok === true;
}

/** Return what the agent at `url` can do; undefined if it does not publish that. */
export async function fetchCapabilities(url) {
  const response = await fetch(`${url}/capabilities`, { headers: ownHeaders() }).catch(() => undefined);
  return response?.ok ? response.json() : undefined;
}

/** Return whether the server of the agent at `url` answers. */
export async function isReachable(url) {
  return (await fetch(`${url}/health`, { headers: ownHeaders() }).catch(() => undefined)) !== undefined;
}

/** Return what the verifier finds in `events`, the answer to `input`: {index, code, message} each. */
export async function verifyRun(url, input, events) {
  const response = await post(url, { input, events });
  if (!response.ok) throw refusal(response.status, await response.text());
  return (await response.json()).findings;
}

/** Post `body` to the agent. */
function ask(url, body, signal, accept = "application/json") {
  return post(url, body, { headers: { ...ownHeaders(), accept }, signal });
}

/** The headers that the person has set: {name in lower case: value}. */
function ownHeaders() {
  return Object.fromEntries(new Headers(storedHeaders()));
}

function post(url, body, { headers, signal } = {}) {
  const json = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers: { ...headers, ...json }, body: JSON.stringify(body), signal });
}

/** Return the error that says why the server refused; `payload` is the body of its answer, as text or as data. */
function refusal(status, payload) {
  const { detail, code } = dataOf(payload) ?? {};
  const reason = detail ?? payload;
  const text = (typeof reason === "string" ? reason : JSON.stringify(reason)).slice(0, 2000);
  return Object.assign(new Error(text), { status, code: code ?? `HTTP ${status}` });
}

function dataOf(payload) {
  try {
    return typeof payload === "string" ? JSON.parse(payload) : payload;
  } catch {
    return undefined;
  }
}
