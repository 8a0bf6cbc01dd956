// The reference AG-UI client behind a line protocol: one JSON request per line in, one JSON answer per line out.
//
// {op: "run",  ...}  run one agent once, over a URL or over given material, and tell what the client then holds
// {op: "runs", runs: [...]}  many such runs, answered together
// {op: "drop", agent}  forget an agent kept under a key
//
// A run takes: url | events | sse (text) | sseChunks (base64), and agent (a key that keeps the client for the next
// turn), threadId, messages, state, add (messages to append first), tools, context, forwardedProps, resume, headers,
// abortAfterEvents, generation (the version of the client, by default the reference).
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import * as reference from "@ag-ui/client";
import { Observable } from "rxjs";

const { AbstractAgent } = reference;
const generations = { "1.0.0": reference };
// The clients of before 1.0 by their versions: their packages have other names here. Not their ES modules: that of
// 0.0.48 has no JSON Patch in Node, though it has in bundles.
const require = createRequire(import.meta.url);
const load = (version) => (generations[version] ??= require(`client-${version}`));

const agents = new Map();
let warnings = [];

const text = (value) => (typeof value === "string" ? value : inspect(value, { depth: 3 }));
for (const level of ["warn", "error"]) {
  console[level] = (...parts) => warnings.push(parts.map(text).join(" "));
}

class GivenAgent extends AbstractAgent {
  run(input) {
    this.input = input;
    // One event per macrotask, so that everything before a fault is applied when the fault comes.
    return new Observable((subscriber) => {
      let stopped = false;
      (async () => {
        for (const event of this.given) {
          if (stopped) return;
          if (this.paced) await new Promise((resume) => setImmediate(resume));
          subscriber.next(event);
        }
        subscriber.complete();
      })().catch((error) => subscriber.error(error));
      return () => {
        stopped = true;
      };
    });
  }
}

const bodyOf = (request) => {
  const encoder = new TextEncoder();
  const chunks = request.sseChunks?.map((chunk) => Buffer.from(chunk, "base64")) ?? [encoder.encode(request.sse)];
  const left = chunks.values();
  return new ReadableStream({
    async pull(controller) {
      if (request.paced) await new Promise((resume) => setImmediate(resume));
      const { value, done } = left.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
};

const create = async (request) => {
  const config = {
    threadId: request.threadId,
    initialMessages: request.messages ?? [],
    initialState: request.state ?? {},
  };
  if (request.events !== undefined) return new GivenAgent(config);
  const { HttpAgent } = request.generation ? load(request.generation) : reference;
  const agent = new HttpAgent({ ...config, url: request.url ?? "http://given.invalid/", headers: request.headers ?? {} });
  if (request.generation) {
    const initOf = agent.requestInit.bind(agent);
    agent.requestInit = (input) => {
      const init = initOf(input);
      agent.input = JSON.parse(init.body);
      return init;
    };
    return agent;
  }
  const overNetwork = agent.fetch;
  agent.fetch = async (url, init) => {
    agent.input = JSON.parse(init.body);
    if (agent.given === undefined) return overNetwork(url, init);
    return new Response(agent.given, { headers: { "content-type": "text/event-stream" } });
  };
  return agent;
};

const agentFor = async (request) => {
  const kept = request.agent === undefined ? undefined : agents.get(request.agent);
  const agent = kept ?? (await create(request));
  if (request.agent !== undefined) agents.set(request.agent, agent);
  agent.given = request.events;
  if (request.sse !== undefined || request.sseChunks !== undefined) agent.given = bodyOf(request);
  agent.paced = request.paced ?? false;
  if (request.headers && agent.url !== undefined) agent.headers = request.headers;
  agent.messages.push(...(request.add ?? []));
  if (kept !== undefined && request.state !== undefined) agent.setState(request.state);
  return agent;
};

const observer = (request, agent, seen) => ({
  onEvent: ({ event }) => {
    seen.events.push(event.type);
    agent.seen.push(event);
    if (request.abortAfterEvents !== undefined && seen.events.length === request.abortAfterEvents) agent.abortRun();
  },
  onRunFinishedEvent: (params) => {
    seen.outcome = params.outcome ?? null;
    seen.pendingToolCallIds = params.pendingToolCallIds ?? null;
    seen.interrupts = params.interrupts ?? null;
  },
  onRunErrorEvent: ({ event }) => {
    seen.runError = { message: event.message, code: event.code ?? null };
  },
});

const run = async (request) => {
  warnings = [];
  const seen = { events: [], outcome: null, pendingToolCallIds: null, interrupts: null, runError: null };
  let error = null;
  let status = null;
  let result = null;
  const agent = await agentFor(request);
  agent.seen = [];
  const { runId, tools, context, forwardedProps, resume } = request;
  try {
    const answer = await agent.runAgent(
      { runId, tools, context, forwardedProps, resume },
      observer(request, agent, seen),
    );
    result = answer.result ?? null;
  } catch (thrown) {
    error = String(thrown?.message ?? thrown);
    status = thrown?.status ?? null;
  }
  const { compactEvents } = request.generation ? load(request.generation) : {};
  return {
    ...seen,
    error,
    status,
    result,
    warnings,
    messages: agent.messages,
    state: agent.state ?? null,
    openInterrupts: agent.pendingInterrupts ?? [],
    input: agent.input ?? null,
    last: agent.seen.at(-1) ?? null,
    custom: agent.seen.filter((event) => event.type === "CUSTOM"),
    compacted: compactEvents ? compactEvents(agent.seen).map((event) => event.type) : null,
  };
};

const operations = {
  run,
  drop: async ({ agent }) => agents.delete(agent),
  runs: async ({ runs }) => {
    const answers = [];
    for (const request of runs) answers.push(await run(request));
    return answers;
  },
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let answer;
  try {
    const request = JSON.parse(line);
    answer = { answer: await operations[request.op ?? "run"](request) };
  } catch (error) {
    answer = { failure: String(error?.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
