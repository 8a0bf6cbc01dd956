// A chat page with CopilotKit's own chat. The runtime serves it, and talks to the agent.
import { createRoot } from "react-dom/client";
import { CopilotChat, CopilotKitProvider, useAgent, useDefaultRenderTool, useFrontendTool, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useState } from "react";
import { z } from "zod";

// The thread is in the address of the page.
if (!location.hash) location.hash = crypto.randomUUID();
const threadId = location.hash.slice(1);

function App() {
  const [error, setError] = useState("");
  return (
    <CopilotKitProvider runtimeUrl="/api/copilotkit" onError={({ error }) => setError(error.message)}>
      <Tools />
      <div style={{ height: "70vh" }}>
        <CopilotChat threadId={threadId} />
      </div>
      <p role="alert">{error}</p>
      <Notes />
    </CopilotKitProvider>
  );
}

function Tools() {
  useDefaultRenderTool();
  useFrontendTool({
    name: "set_background",
    description: "Paint the page.",
    parameters: z.object({ color: z.string() }),
    handler: async ({ color }) => {
      document.body.style.backgroundColor = color;
      return `The page is ${color}.`;
    },
  });
  useInterrupt({
    render: ({ interrupt, resolve }) =>
      interrupt.reason === "tool_call" ? (
        <form>
          {interrupt.message}
          <button type="button" onClick={() => resolve({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => resolve({ approved: false })}>
            Reject
          </button>
        </form>
      ) : (
        <form action={(data) => void resolve(data.get("text"))}>
          {interrupt.message}
          <input name="text" />
          <button>Answer</button>
        </form>
      ),
  });
}

function Notes() {
  const { agent } = useAgent();
  const notes = agent.state?.notes ?? [];
  const add = (data) => agent.setState({ ...agent.state, notes: [...notes, data.get("text")] });
  return (
    <aside>
      <h2>Notes</h2>
      <ul>
        {notes.map((note, at) => (
          <li key={at}>{note}</li>
        ))}
      </ul>
      <form action={add}>
        <input name="text" placeholder="Add a note" />
        <button>Add</button>
      </form>
    </aside>
  );
}

createRoot(document.getElementById("root")).render(<App />);
