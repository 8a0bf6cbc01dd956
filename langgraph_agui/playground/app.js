// The page: one thread, one run at a time.

import { stickToEnd } from "./dom.js";
import { InterruptForm } from "./interrupts.js";
import { keepSubagents, keptSubagents } from "./kept.js";
import { drawState, drawSteps, drawUsage, EventLog } from "./panels.js";
import { connectThread, runAgent } from "./stream.js";
import { Thread } from "./thread.js";
import { Transcript } from "./transcript.js";

const STATUS = {
  idle: "Ready",
  running: "Running",
  finished: "Finished",
  waiting: "Waiting for you",
  cancelled: "Cancelled",
  failed: "Failed",
  stopped: "Stopped",
};

const find = (id) => document.getElementById(id);
const agentUrl = document.querySelector("meta[name=agent]").content;
const message = find("message");
const transcript = new Transcript(find("transcript"));
const stick = stickToEnd(find("transcript"));
const log = new EventLog(find("events"), find("event-count"));
const interruptForm = new InterruptForm(find("interrupts"), (answers) => run(thread.resume(answers)));

let thread = new Thread();
let controller = null;
let frame = 0;

/** Draw at most once per frame, however many events arrive. */
function draw() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    drawNow();
  });
}

function drawNow() {
  transcript.draw(thread);
  drawSteps(find("steps"), thread);
  drawUsage(find("usage"), thread.usage);
  drawState(find("state"), thread.state);
  interruptForm.draw(thread);
  const status = find("status");
  status.dataset.status = thread.status;
  if (status.textContent !== STATUS[thread.status]) status.textContent = STATUS[thread.status];
  find("thread-id").textContent = thread.id;
  find("welcome").hidden = thread.messages.length > 0;
  find("stop").disabled = !thread.running;
  find("send").disabled = thread.running || thread.interrupts.length > 0;
  stick();
  log.follow();
}

/** Run the agent on `input`, or look at its thread, and fold what comes into the thread that was current then. */
async function run(input, ask = runAgent) {
  const own = thread;
  const { signal } = (controller = new AbortController());
  draw();
  try {
    for await (const event of ask(agentUrl, input, signal)) {
      if (own === thread) log.add(event);
      own.apply(event);
      draw();
    }
    if (own.running) own.failed("The stream ended before the run did.");
  } catch (error) {
    if (signal.aborted) own.stopped();
    else own.failed(error instanceof TypeError ? `The agent cannot be reached (${error.message}).` : error.message);
  }
  draw();
  if (own === thread && own.interrupts.length === 0) message.focus();
}

function send() {
  const text = message.value.trim();
  if (!text || thread.running || thread.interrupts.length > 0) return;
  message.value = "";
  stick(true);
  // The thread is in the address: a page that is loaded again shows it again.
  history.replaceState(null, "", `#${thread.id}`);
  run(thread.ask(text));
}

find("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
message.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
find("suggestions").addEventListener("click", (event) => {
  if (event.target.tagName !== "BUTTON") return;
  message.value = event.target.textContent;
  send();
});
find("stop").addEventListener("click", () => controller?.abort());
find("new-thread").addEventListener("click", () => {
  controller?.abort();
  thread = new Thread();
  history.replaceState(null, "", location.pathname);
  transcript.clear();
  log.clear();
  draw();
  message.focus();
});

addEventListener("pagehide", () => keepSubagents(thread));

drawNow();
const known = location.hash.slice(1);
if (known) run(thread.connect(known, keptSubagents(known)), connectThread);
message.focus();
