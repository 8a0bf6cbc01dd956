// The page: one thread, one run at a time. The person's actions enter, events are applied, and the parts are drawn.

import { Composer } from "./composer.js";
import { setText, stickToEnd } from "./dom.js";
import { HeadersDialog } from "./headers.js";
import { Inspector } from "./inspector.js";
import { Markdown } from "./markdown.js";
import { showPanel, takeFull, takeToggles, takeWidth } from "./panels.js";
import { Questions } from "./questions.js";
import { StateView } from "./state.js";
import { contentsOf, forgetThread, isKept, storedThread, storeThread } from "./store.js";
import { cancelRun, connectThread, fetchCapabilities, isReachable, runAgent, verifyRun } from "./stream.js";
import { Thread } from "./thread.js";
import { ThreadList } from "./threads.js";
import { ToolsDialog } from "./tools.js";
import { Transcript } from "./transcript.js";
import { tap } from "./vendor/ag-ui-client.js";

const STATUS = {
  idle: "Ready",
  running: "Running",
  finished: "Finished",
  waiting: "Waiting for you",
  failed: "Failed",
  stopped: "Stopped",
  unknown: "Unknown thread",
};
const RETRY_MILLISECONDS = 1500;
// How often the times of a run are drawn while no event comes.
const CLOCK_MILLISECONDS = 500;
/** Answers of an agent that runs but shows no threads: only this browser has them. */
const NO_CONNECT = ["HTTP 404", "HTTP 405"];

const find = (id) => document.getElementById(id);
const meta = (name) => document.querySelector(`meta[name=${name}]`).content;
const agents = JSON.parse(meta("agents"));
const markdown = new Markdown(`${meta("assets")}/markdown`);
const stick = stickToEnd(find("transcript"), find("jump"));
// Other tabs of this browser: {agent, thread, run, contents} for each run that begins or ends.
const tabs = new BroadcastChannel("langgraph-agui");
const composer = new Composer(find("composer"), { send });
const transcript = new Transcript(find("transcript"), {
  edit: (id, text) => run(thread.edit(id, text)),
  regenerate: (id) => run(thread.regenerate(id)),
  retry,
  setHeaders: () => headers.open(),
  render: (texts) => markdown.render(texts),
  elapsed: (id) => inspector.workedFor(id),
});
const questions = new Questions(find("questions"), {
  answer,
  answerCalls: (results) => run(thread.answerCalls(results)),
});
const inspector = new Inspector(find("inspector"), {
  verify: (input, events) => verifyRun(`${meta("assets")}/verify`, input, events),
  show: (past) => {
    recorded = past;
    draw();
    catchUp();
  },
});
const stateView = new StateView(find("state"), {
  edit: (state) => {
    thread.state = state;
    thread.changes += 1;
    draw();
  },
});
const threads = new ThreadList(find("threads"), { open: openEntry, forget: forgetEntry });

let agent = agents[0];
let thread = new Thread();
let tools = [];
/** A recorded thread that is shown instead of the live one. */
let recorded = null;
/** The action of "Retry", if it is not to send the last input again. */
let again = null;
/** The last message of another tab about this thread, until it is seen. */
let told;
let controller = null;
let frame = 0;
let clock = 0;

/** Draw at most once per frame, however many events arrive. */
function draw() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    drawNow();
  });
}

function drawNow() {
  const shown = recorded ?? thread;
  transcript.draw(shown);
  stateView.draw(shown);
  inspector.draw();
  questions.draw(thread);
  const status = find("status");
  const now = thread.waiting ? "waiting" : thread.status;
  status.dataset.status = now;
  setText(status, STATUS[now]);
  find("recording").hidden = recorded === null;
  find("welcome").hidden = shown.messages.length > 0;
  find("stop").disabled = !thread.running;
  stick();
  clearTimeout(clock);
  if (thread.running) clock = setTimeout(draw, CLOCK_MILLISECONDS);
}

/** Show the stored threads. Not part of each drawing: the store may be large, and is read as a whole. */
function listThreads() {
  threads.draw(thread.id, agent.name);
}

/** Store `own`, a thread of the agent `from`, and list it. */
function keep(own, from) {
  storeThread(own, from.name);
  listThreads();
}

/** Run the agent on `input`, or ask for its thread, and apply what comes to the thread that was current then. */
async function run(input, request = runAgent) {
  const own = thread;
  const aborting = (controller = new AbortController());
  const from = agent;
  let refused = false;
  again = null;
  recorded = null;
  inspector.begin(input, request === connectThread ? `${from.url}/connect` : from.url);
  draw();
  const record = tap((event) => {
    if (own === thread) inspector.add(event);
    if (event.type === "RUN_STARTED" && request === runAgent && isKept(own)) tell(own, from);
  });
  try {
    await own.follow(input, (given) => request(from.url, given, aborting.signal).pipe(record), draw);
    if (own.running) throw new Error("The stream ended before the run did.");
  } catch (error) {
    if (aborting.signal.aborted) own.stopped();
    else if (request === connectThread && NO_CONNECT.includes(error.code)) own.restored();
    else fail(own, error);
    refused = error.refused === true;
    aborting.abort(); // the rest of the stream has no reader
  }
  keep(own, from);
  if (request === runAgent) tell(own, from);
  if (own !== thread) return;
  // Another run has the thread: sent again as it is, the message would begin a branch that does not know that run.
  if (own.failure === "thread_busy") again = () => connect(own, { ...kept(own), messages: [] }, own.messages);
  inspector.finish(refused);
  draw();
  if (own.waiting) questions.focus();
  else composer.focus();
  // Later steps of this task may still change the thread.
  setTimeout(() => {
    if (own !== thread || own.running) return;
    composer.release(own.status === "finished" && !own.waiting);
    catchUp();
  });
}

/** Tell other tabs that a run has begun or ended, with the contents of the thread if the agent keeps none. */
function tell(own, from) {
  tabs.postMessage({ agent: from.name, thread: own.id, run: own.runId, contents: contentsOf(own) });
}

function listen({ data }) {
  if (data.agent !== agent.name || data.thread !== thread.id) return;
  told = data;
  catchUp();
}

/** Follow the run that another tab has told of, unless this one has seen it, or is busy: then it does so later. */
function catchUp() {
  // An agent that publishes nothing about itself may not be able to show its threads.
  if (!told || thread.running || recorded !== null || !thread.capabilities) return;
  const { run, contents } = told;
  told = undefined;
  if (run !== thread.runId) connect(thread, { ...kept(thread), ...contents }, contents.messages ?? []);
}

/** The run of `own` broke off. If the server is gone, wait for it and show the thread as it is then. */
function fail(own, error) {
  const { message, code, status, lostConnection } = error;
  if (!lostConnection) return own.failed(message, { code, headers: [401, 403].includes(status) });
  const text = "The connection to the agent was lost. The page keeps trying until the agent answers.";
  own.failed(text, { passing: true });
  const retry = (again = () => connect(own, kept(own)));
  awaitServer(() => own === thread && again === retry);
}

async function awaitServer(isWanted) {
  while (isWanted() && !(await isReachable(agent.url))) {
    await new Promise((done) => setTimeout(done, RETRY_MILLISECONDS));
  }
  if (isWanted()) again();
}

/** Return this page's copy of a thread, in the form in which the browser stores it. */
const kept = (own) => ({ ...own, subagents: [...own.subagents.values()] });

/** Bring `own` up to what the agent has of it; `stored` is what this page or this browser has, `held` its messages. */
async function connect(own, stored, held = stored?.messages ?? []) {
  const input = own.connect(stored);
  await run(input, connectThread);
  if (own === thread && own.status === "failed") again ??= () => connect(own, stored, held);
  if (own.status === "finished") own.connected(held);
  draw();
}

/** Answer what the agent asks. If it does not ask that any more, show what it asks now. */
async function answer(answers) {
  const own = thread;
  const rejected = new Map(own.rejected);
  await run(own.resume(answers));
  if (own.failure?.startsWith("interrupt_")) own.rejected = rejected;
  if (own !== thread || own.failure !== "interrupt_unknown") return;
  await connect(own, kept(own));
  own.notice("note", "Your answer came too late: the question was answered elsewhere.");
  draw();
}

function retry() {
  if (again) again();
  else run(thread.retry());
}

/** Send a message, and return whether it was taken. */
function send(content) {
  if (thread.running) {
    composer.hold();
    return false;
  }
  if (thread.waiting) {
    questions.focus();
    return false;
  }
  stick(true);
  // The thread is in the address: a page that is loaded again shows it again. Behind it is the thread before.
  if (location.hash !== addressOf(thread.id)) history.replaceState(null, "", addressOf(thread.id));
  run(thread.ask(content));
  keep(thread, agent);
  return true;
}

async function stop() {
  if (!thread.running) return;
  const { signal } = controller;
  const stopping = controller;
  // A server that keeps runs going when their reader leaves has to be asked; any other stops when we leave.
  if (!(await cancelRun(agent.url, thread.id, thread.runId, signal))) stopping.abort();
}

const addressOf = (id) => `#${[...(agents.length > 1 ? [agent.name] : []), id].map(encodeURIComponent).join("/")}`;

/** Return a part of the address without its encoding, or as it is if the encoding is wrong. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Show another thread, as this page begins it. */
function begin(next) {
  if (thread.running) storeThread(thread, agent.name);
  controller?.abort();
  composer.release(false);
  thread = next;
  listThreads();
  thread.tools = tools;
  recorded = null;
  again = null;
  told = undefined;
  inspector.clear();
  readCapabilities();
}

async function readCapabilities() {
  const own = thread;
  own.capabilities = await fetchCapabilities(agent.url);
  draw();
}

/** Show the thread `id` as the agent has it, with what this browser has stored of it. */
function openThread(id) {
  begin(new Thread(id));
  transcript.clear();
  connect(thread, storedThread(id));
}

/** Show what the address names: a thread, or a new one. */
function openAddress() {
  const address = location.hash.slice(1);
  const end = agents.length > 1 ? address.indexOf("/") : -1;
  agent = agents.find(({ name }) => name === decoded(address.slice(0, Math.max(end, 0)))) ?? agents[0];
  find("agents").value = agent.name;
  const id = decoded(address.slice(end + 1));
  if (id) openThread(id);
  else newThread();
}

function newThread() {
  begin(new Thread());
  transcript.clear();
  draw();
  composer.focus();
}

function openEntry(entry) {
  history.pushState(null, "", addressOf(entry.id));
  showPanel("threads-panel", false);
  openThread(entry.id);
}

function forgetEntry(entry) {
  forgetThread(entry.id);
  if (entry.id === thread.id) goToNewThread();
  else listThreads();
}

function goToNewThread() {
  if (location.hash) history.pushState(null, "", location.pathname);
  for (const id of ["threads-panel", "details-panel"]) showPanel(id, false);
  newThread();
}

takeToggles();
takeWidth(find("columns"), find("details-width"));
takeFull(find("columns"), find("details-full"));
tabs.addEventListener("message", listen);
find("agents").append(...agents.map(({ name }) => new Option(name, name)));
find("agent-choice").hidden = agents.length < 2;
find("agents").addEventListener("change", ({ target }) => {
  agent = agents.find(({ name }) => name === target.value);
  goToNewThread();
});
const headers = new HeadersDialog(find("headers"), find("edit-headers"), () => {
  readCapabilities();
  const last = thread.notices.at(-1);
  if (last?.headers && last.retry) retry();
});
const dialog = new ToolsDialog(find("tools"), (changed) => (thread.tools = tools = changed));
find("edit-tools").addEventListener("click", () => dialog.open());
find("suggestions").addEventListener("click", ({ target }) => {
  if (target.tagName === "BUTTON") composer.submit(target.textContent);
});
find("recording").querySelector("button").addEventListener("click", () => inspector.backToNow());
find("stop").addEventListener("click", stop);
find("new-thread").addEventListener("click", goToNewThread);
composer.takeDrops(find("transcript"));
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) stop();
});
addEventListener("popstate", openAddress);
addEventListener("storage", listThreads); // another tab has stored a thread
addEventListener("pagehide", () => storeThread(thread, agent.name));

openAddress();
