// One run over HTTP: posts a RunAgentInput and yields the AG-UI events of the answer.

const MAX_FRAME = 10 * 1024 * 1024;

/** Yield the events that restore the thread of `input` from the agent at `url`, without a run. */
export function connectThread(url, input, signal) {
  return runAgent(`${url}/connect`, input, signal);
}

/** Run the agent at `url` with `input` and yield its events. Throws an error that has `lostConnection` or a `code`. */
export async function* runAgent(url, input, signal) {
  let response;
  try {
    response = await post(url, input, signal, "text/event-stream");
  } catch (error) {
    throw Object.assign(error, { lostConnection: true });
  }
  if (!response.ok) throw await refusal(response);
  const type = response.headers.get("Content-Type") ?? "no content type";
  if (!type.startsWith("text/event-stream")) throw new Error(`Expected an event stream, got ${type}.`);
  try {
    yield* readEvents(response.body);
  } catch (error) {
    throw Object.assign(error, { lostConnection: error instanceof TypeError });
  }
}

/** Stop a run at the agent. Return whether the agent has stopped it. */
export async function cancelRun(url, threadId, runId, signal) {
  const response = await post(`${url}/cancel`, { threadId, runId }, signal).catch(() => undefined);
  return response?.ok === true;
}

/** Return what the agent at `url` can do; undefined if it does not publish that. */
export async function fetchCapabilities(url) {
  const response = await fetch(`${url}/capabilities`).catch(() => undefined);
  return response?.ok ? response.json() : undefined;
}

/** Return whether the server of the agent at `url` answers. */
export async function isReachable(url) {
  return (await fetch(`${url}/health`).catch(() => undefined)) !== undefined;
}

/** Return what the verifier finds in `events`, the answer to `input`: {index, code, message} each. */
export async function verifyRun(url, input, events) {
  const response = await post(url, { input, events });
  if (!response.ok) throw await refusal(response);
  return (await response.json()).findings;
}

function post(url, body, signal, accept = "application/json") {
  const headers = { "Content-Type": "application/json", Accept: accept };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Return the error that says why the server refused. */
async function refusal(response) {
  const text = (await response.text()).slice(0, 2000);
  try {
    const { detail, code } = JSON.parse(text);
    const reason = typeof detail === "string" ? detail : JSON.stringify(detail ?? text);
    return Object.assign(new Error(reason), { code: code ?? `HTTP ${response.status}` });
  } catch {
    return Object.assign(new Error(text || response.statusText), { code: `HTTP ${response.status}` });
  }
}

/** Decode a stream of bytes as server-sent events whose data is one JSON object each. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (value) buffer = (buffer + value).replaceAll("\r\n", "\n");
      const frames = buffer.split("\n\n");
      buffer = frames.pop();
      if (buffer.length > MAX_FRAME) throw new Error("An event is larger than 10 MB.");
      if (done) frames.push(buffer);
      for (const frame of frames) yield* parseFrame(frame);
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function* parseFrame(frame) {
  const data = frame.split("\n").filter((line) => line.startsWith("data:"));
  if (data.length === 0) return;
  const event = JSON.parse(data.map((line) => line.slice(5).replace(/^ /, "")).join("\n"));
  if (typeof event?.type !== "string" || event.type === "") throw new Error("An event carries no type.");
  yield event;
}
