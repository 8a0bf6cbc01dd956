// One run over HTTP: posts a RunAgentInput and yields the AG-UI events of the answer.

const MAX_FRAME = 10 * 1024 * 1024;

/** Yield the events that restore the thread of `input` from the agent at `url`, without a run. */
export function connectThread(url, input, signal) {
  return runAgent(`${url}/connect`, input, signal);
}

/** Run the agent at `url` with `input` and yield its events. Throws if the answer is not an event stream. */
export async function* runAgent(url, input, signal) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(input),
    signal,
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${(await response.text()).slice(0, 2000)}`);
  const type = response.headers.get("Content-Type") ?? "no content type";
  if (!type.startsWith("text/event-stream")) throw new Error(`Expected an event stream, got ${type}.`);
  yield* readEvents(response.body);
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
