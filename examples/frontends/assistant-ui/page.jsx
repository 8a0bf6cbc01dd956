// A chat page of assistant-ui's own parts, on its AG-UI runtime.
import { createRoot } from "react-dom/client";
import { HttpAgent } from "@ag-ui/client";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ErrorPrimitive,
  ExportedMessageRepository,
  MessagePrimitive,
  ThreadPrimitive,
  makeAssistantTool,
} from "@assistant-ui/react";
import {
  fromAgUiMessages,
  useAgUiInterrupts,
  useAgUiRuntime,
  useAgUiSetState,
  useAgUiState,
  useAgUiSubmitInterruptResponses,
} from "@assistant-ui/react-ag-ui";

// The thread is in the address of the page.
if (!location.hash) location.hash = crypto.randomUUID();
const threadId = location.hash.slice(1);
const agent = new HttpAgent({ url: "/agent", threadId });

// What the server has of the thread, for a page that was reloaded. The page waits for it: assistant-ui replaces with it
// what was sent meanwhile.
const thread = new HttpAgent({ url: "/agent/connect", threadId });
await thread.runAgent().catch(console.error);
const { messages, state, pendingInterrupts: interrupts } = thread;
// assistant-ui keeps what is open with the message that waits for it.
if (interrupts.length > 0) messages.at(-1).metadata = { custom: { agui: { interrupts } } };
const history = {
  load: async () => ({ ...ExportedMessageRepository.fromArray(fromAgUiMessages(messages)), state }),
  async append() {},
};

const Background = makeAssistantTool({
  toolName: "set_background",
  description: "Paint the page.",
  parameters: { type: "object", properties: { color: { type: "string" } }, required: ["color"] },
  execute: async ({ color }) => {
    document.body.style.backgroundColor = color;
    return `The page is ${color}.`;
  },
  render: ToolCall,
});

function App() {
  const runtime = useAgUiRuntime({ agent, adapters: { history } });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Background />
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
        </ThreadPrimitive.Viewport>
        <Questions />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input placeholder="Write a message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
      <Notes />
    </AssistantRuntimeProvider>
  );
}

function UserMessage() {
  return (
    <MessagePrimitive.Root className="user">
      <MessagePrimitive.Parts />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Text, Reasoning, tools: { Fallback: ToolCall } }} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  );
}

const Text = ({ text }) => <p className="assistant">{text}</p>;

const Reasoning = ({ text }) => <p className="reasoning">{text}</p>;

function ToolCall({ toolName, argsText, result, approval, respondToApproval }) {
  const waits = approval && approval.approved === undefined && !approval.resolution;
  return (
    <div>
      <p className="call">
        {toolName} {argsText}
      </p>
      {waits && (
        <form>
          {toolName} requires approval
          <button type="button" onClick={() => respondToApproval({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => respondToApproval({ approved: false, reason: "No, thank you." })}>
            Reject
          </button>
        </form>
      )}
      {result !== undefined && <p className="tool">{String(result)}</p>}
    </div>
  );
}

function Questions() {
  const submit = useAgUiSubmitInterruptResponses();
  const questions = useAgUiInterrupts().filter((interrupt) => interrupt.reason !== "tool_call");
  return questions.map((interrupt) => {
    const answer = (payload) => submit([{ interruptId: interrupt.id, status: "resolved", payload }]);
    return (
      <form key={interrupt.id} action={(data) => void answer(data.get("text"))}>
        {interrupt.message}
        <input name="text" />
        <button>Answer</button>
      </form>
    );
  });
}

function Notes() {
  const notes = useAgUiState()?.notes ?? [];
  const setState = useAgUiSetState();
  const add = (data) => setState((state) => ({ ...state, notes: [...notes, data.get("text")] }));
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
