// The browser's store: the list of threads, their parts that the server does not send, and the page's own tools. The
// headers of requests are kept by this tab alone.

import { contentText } from "./dom.js";

const THREADS = "langgraph-agui:threads";
const TOOLS = "langgraph-agui:tools";
const WIDTH = "langgraph-agui:details";
const HEADERS = "langgraph-agui:headers";
const MAX_THREADS = 200;
const MAX_NAME = 60;

/**
 * Return the stored threads, the newest first: {id, agent, name, at, run, subagents, rejected} each, with its contents
 * if the agent keeps none.
 */
export function storedThreads() {
  const threads = read(THREADS);
  return Array.isArray(threads) ? threads.filter((one) => typeof one?.id === "string") : [];
}

/** Return what is stored of the thread `id`. */
export function storedThread(id) {
  return storedThreads().find((one) => one.id === id);
}

/** Whether the agent keeps the messages and the state of `thread`. */
export function isKept({ capabilities }) {
  return capabilities?.state?.persistentState === true;
}

/** Return what the browser has to keep of `thread`, as far as the agent does not: {messages, state, interrupts}. */
export function contentsOf(thread) {
  const { messages, state, interrupts, running } = thread;
  return isKept(thread) ? {} : { messages, state, interrupts: running ? [] : interrupts };
}

/** Store `thread` of the agent called `agent`. */
export function storeThread(thread, agent) {
  const name = nameOf(thread) || storedThread(thread.id)?.name;
  if (!name) return;
  const entry = {
    id: thread.id,
    agent,
    name,
    at: Date.now(),
    run: thread.status === "finished" ? undefined : thread.runId,
    subagents: [...thread.subagents.values()],
    rejected: [...thread.rejected],
    ...contentsOf(thread),
  };
  const threads = [entry, ...storedThreads().filter(({ id }) => id !== thread.id)].slice(0, MAX_THREADS);
  // The store of a browser is small: the oldest contents make room first.
  for (const old of [undefined, ...threads.slice(1).reverse(), entry]) {
    if (old) ["messages", "state", "interrupts"].forEach((field) => delete old[field]);
    if (write(THREADS, threads)) return;
  }
}

/** Remove the thread `id` from the list. The server keeps what it has of it. */
export function forgetThread(id) {
  write(THREADS, storedThreads().filter((one) => one.id !== id));
}

/** Return the tools that the person has added to the page. */
export function storedTools() {
  const tools = read(TOOLS);
  return Array.isArray(tools) ? tools.filter((one) => typeof one?.name === "string") : [];
}

export function storeTools(tools) {
  write(TOOLS, tools);
}

/** Return how wide the person has made the details, in pixels; 0 if they never have. */
export function storedWidth() {
  return Number(read(WIDTH)) || 0;
}

export function storeWidth(width) {
  write(WIDTH, width);
}

/** Return the headers for requests to the agent, as this tab has them: [name, value] each. */
export function storedHeaders() {
  const headers = read(HEADERS, "sessionStorage");
  return Array.isArray(headers) ? headers : [];
}

export function storeHeaders(headers) {
  write(HEADERS, headers, "sessionStorage");
}

/** A thread is called by its first words. */
function nameOf({ messages }) {
  const first = messages.find(({ role, subagentRunId }) => role === "user" && !subagentRunId);
  const line = contentText(first?.content).replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_NAME ? `${line.slice(0, MAX_NAME - 1)}…` : line;
}

function read(key, storage = "localStorage") {
  try {
    return JSON.parse(window[storage].getItem(key));
  } catch {
    return null; // The browser allows no storage, or something else wrote there.
  }
}

function write(key, value, storage = "localStorage") {
  try {
    window[storage].setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
