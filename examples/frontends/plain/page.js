// A chat page on nothing but @ag-ui/client.
import { HttpAgent, buildResumeArray } from "@ag-ui/client";

class ThreadAgent extends HttpAgent {
  // What the server has of the thread, for a page that was reloaded.
  connect(input) {
    return new HttpAgent({ url: `${this.url}/connect` }).run(input);
  }
}

// The thread is in the address of the page.
if (!location.hash) location.hash = crypto.randomUUID();
const agent = new ThreadAgent({ url: "/agent", threadId: location.hash.slice(1), initialState: { notes: [] } });

const tools = {
  set_background: {
    description: "Paint the page.",
    parameters: { type: "object", properties: { color: { type: "string" } }, required: ["color"] },
    run: ({ color }) => {
      document.body.style.backgroundColor = color;
      return `The page is ${color}.`;
    },
  },
};
const declared = Object.entries(tools).map(([name, { description, parameters }]) => ({ name, description, parameters }));

let pending = []; // the calls of our tools
let subagents = {}; // names by subagentRunId
agent.subscribe({
  onMessagesChanged: draw,
  onStateChanged: draw,
  onRunInitialized: () => {
    pending = [];
    show("error", []);
    draw();
  },
  onRunFinishedEvent: (finished) => {
    pending = finished.pendingToolCallIds ?? [];
  },
  onSubagentStartedEvent: ({ event }) => {
    subagents[event.subagentRunId] = event.name;
  },
  onRunErrorEvent: ({ event }) => show("error", [event.message]),
  onRunFailed: ({ error }) => show("error", [error.message]),
  onRunFinalized: draw,
});

async function run(resume) {
  await agent.runAgent({ tools: declared, resume });
  if (pending.length === 0) return;
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  for (const { id, function: called } of calls.filter((call) => pending.includes(call.id))) {
    const content = tools[called.name].run(JSON.parse(called.arguments));
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: id, content });
  }
  await run();
}

function answer(interrupt, payload) {
  return run(buildResumeArray([interrupt], { [interrupt.id]: { status: "resolved", payload } }));
}

function draw() {
  show("messages", agent.messages.flatMap(lines));
  show("notes", (agent.state.notes ?? []).map((note) => element("li", note)));
  document.querySelector("#ask button").disabled = agent.isRunning;
  show("questions", agent.isRunning ? [] : agent.pendingInterrupts.map(question));
  document.querySelector("#messages > :last-child")?.scrollIntoView({ block: "nearest" });
}

function lines(message) {
  const who = subagents[message.subagentRunId] ?? message.role;
  const text = message.content ? [element("p", message.content, { className: message.role, title: who })] : [];
  const calls = (message.toolCalls ?? []).map((call) =>
    element("p", `${call.function.name} ${call.function.arguments}`, { className: "call" }),
  );
  return [...text, ...calls];
}

function question(interrupt) {
  const box = element("form", interrupt.message);
  if (interrupt.reason === "tool_call") {
    const button = (text, approved) =>
      element("button", text, { type: "button", onclick: () => answer(interrupt, { approved }) });
    box.append(button("Approve", true), button("Reject", false));
  } else {
    box.append(element("input", "", { name: "text" }), element("button", "Answer"));
    box.onsubmit = (event) => answer(interrupt, written(event));
  }
  return box;
}

const element = (name, text, properties) =>
  Object.assign(document.createElement(name), { textContent: text, ...properties });
const show = (id, parts) => document.getElementById(id).replaceChildren(...parts);

function written(event) {
  event.preventDefault();
  const { text } = Object.fromEntries(new FormData(event.target));
  event.target.reset();
  return text;
}

document.getElementById("ask").onsubmit = (event) => {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: written(event) });
  run();
};
document.getElementById("note").onsubmit = (event) => {
  agent.setState({ ...agent.state, notes: [...(agent.state.notes ?? []), written(event)] });
};

agent.connectAgent().catch(console.error); // the page shows the error too
