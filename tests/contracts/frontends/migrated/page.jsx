// A page for each graph of tests/contracts/migrated/graphs, as users of CopilotKit write it: `?graph=` says which.
import { createRoot } from "react-dom/client";
import { useLangGraphInterrupt } from "@copilotkit/react-core";
import {
  CopilotChat,
  CopilotKitProvider,
  useAgent,
  useComponent,
  useFrontendTool,
  useHumanInTheLoop,
  useInterrupt,
} from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useEffect, useState } from "react";
import { z } from "zod";

const given = new URLSearchParams(location.search);

function AgenticChat() {
  const [background, setBackground] = useState("white");
  useFrontendTool({
    name: "change_background",
    description: "Change the background of the chat.",
    parameters: z.object({ background: z.string().describe("A CSS colour.") }),
    handler: async ({ background }) => {
      setBackground(background);
      return { status: "success", message: `The background is ${background}.` };
    },
  });
  return <div data-testid="background" style={{ background, height: "2em" }} />;
}

// Pages draw the value that the graph gave to `interrupt()`. It is in the event `on_interrupt`, as text, which one of the
// hooks reads as JSON; or, with an option of the agent, in the outcome of a run.
const byOutcome = given.get("asked") === "outcome";
const useOutcome = (draw) =>
  useInterrupt({ render: ({ interrupt, resolve }) => draw(interrupt.metadata.langgraph.raw, resolve) });
const useText = (draw) => useInterrupt({ render: ({ event, resolve }) => draw(JSON.parse(event.value), resolve) });
const useValue = (draw) => useLangGraphInterrupt({ render: ({ event, resolve }) => draw(event.value, resolve) });

const usePlan = byOutcome ? useOutcome : useText;
const useFlights = byOutcome ? useOutcome : useValue;

function HumanInTheLoop() {
  usePlan(({ steps }, resolve) => <StepPicker steps={steps} onConfirm={(steps) => resolve(answered({ steps }))} />);
  return <Steps />;
}

// Pages answer by an object, or by its text.
const answered = (value) => (given.get("answer") === "text" ? JSON.stringify(value) : value);

function StepPicker({ steps, onConfirm }) {
  const [picked, setPicked] = useState(steps);
  const toggled = ({ status }) => (status === "enabled" ? "disabled" : "enabled");
  const toggle = (which) => setPicked(picked.map((step) => (step === which ? { ...step, status: toggled(step) } : step)));
  return (
    <form action={() => void onConfirm(picked)}>
      {picked.map((step) => (
        <label key={step.description}>
          <input type="checkbox" checked={step.status === "enabled"} onChange={() => toggle(step)} />
          {step.description}
        </label>
      ))}
      <button>Confirm</button>
    </form>
  );
}

function Steps() {
  const { agent } = useAgent();
  return (
    <ul data-testid="steps">
      {agent.state?.steps?.map(({ description, status }) => (
        <li key={description}>
          {description}: {status}
        </li>
      ))}
    </ul>
  );
}

function Subgraphs() {
  const { agent } = useAgent();
  useFlights(({ message, options }, resolve) => (
    <form>
      <p>{message}</p>
      {options.map((option) => (
        <button key={option} type="button" onClick={() => void resolve(option)}>
          {option}
        </button>
      ))}
    </form>
  ));
  return <output data-testid="flight">{agent.state?.flight}</output>;
}

// What the AG-UI Dojo's page human_in_the_loop does: it draws `event.value`, or, in its newest form, the graph's value in
// the outcome, and answers in words.
const useSteps = byOutcome
  ? (draw) =>
      useInterrupt({
        render: ({ interrupt, event, resolve }) =>
          draw(interrupt?.metadata?.langgraph?.raw ?? event.value, (words) => void resolve(words, interrupt?.id)),
      })
  : useValue;

function DojoHumanInTheLoop() {
  useSteps((value, resolve) => <StepSelection event={{ value }} resolve={resolve} />);
  return <Steps />;
}

function StepSelection({ event, resolve }) {
  const [steps, setSteps] = useState(event.value.steps);
  const enabled = steps.filter(({ status }) => status === "enabled");
  const toggle = (at) => {
    const status = steps[at].status === "enabled" ? "disabled" : "enabled";
    setSteps(steps.with(at, { ...steps[at], status }));
  };
  const perform = () =>
    resolve(`The user selected the following steps: ${enabled.map(({ description }) => description).join(", ")}`);
  return (
    <div>
      <output data-testid="selected">
        {enabled.length}/{steps.length} selected
      </output>
      {steps.map(({ description, status }, at) => (
        <label key={at}>
          <input type="checkbox" checked={status === "enabled"} onChange={() => toggle(at)} />
          {description}
        </label>
      ))}
      <button onClick={perform}>Perform Steps</button>
    </div>
  );
}

// What its page subgraphs does: it sets a first state, draws `event.value`, and answers by the text of an object.
const NO_TRIP = { itinerary: {}, experiences: [], flights: [], hotels: [], planning_step: "start" };

function DojoSubgraphs() {
  const { agent, isReady } = useAgent();
  useEffect(() => {
    if (isReady && !agent.state?.itinerary) agent.setState(NO_TRIP);
  }, [agent, isReady]);
  useLangGraphInterrupt({ render: ({ event, resolve }) => <Options event={event} resolve={resolve} /> });
  const { itinerary = {}, flights = [], hotels = [], experiences = [] } = agent.state ?? {};
  return (
    <section>
      <p data-testid="selected-flight">{itinerary.flight && `${itinerary.flight.airline} - ${itinerary.flight.price}`}</p>
      <p data-testid="selected-hotel">{itinerary.hotel?.name}</p>
      <ul data-testid="found">
        {flights.map(({ airline }) => (
          <li key={airline}>{airline}</li>
        ))}
        {hotels.map(({ name }) => (
          <li key={name}>{name}</li>
        ))}
        {experiences.map((experience) => (
          <li key={experience}>{experience}</li>
        ))}
      </ul>
    </section>
  );
}

function Options({ event, resolve }) {
  const { message, options, recommendation, agent } = event.value;
  return (
    <form>
      <p>
        {agent}: {message}
      </p>
      {options.map((option) => {
        const [name, recommended] =
          "airline" in option
            ? [option.airline, recommendation.airline === option.airline]
            : [option.name, recommendation.name === option.name];
        return (
          <button key={name} type="button" onClick={() => void resolve(JSON.stringify(option))}>
            {name}
            {recommended && " (recommended)"}
          </button>
        );
      })}
    </form>
  );
}

function SharedState() {
  const { agent, isReady } = useAgent(); // until it is ready, what is set is lost
  const recipe = agent.state?.recipe;
  const set = (changes) => agent.setState({ ...agent.state, recipe: { ...recipe, ...changes } });
  return (
    <fieldset disabled={!isReady}>
      <h2 data-testid="title">{recipe?.title}</h2>
      <label>
        Minutes
        <input type="number" value={recipe?.minutes ?? ""} onChange={(event) => set({ minutes: +event.target.value })} />
      </label>
    </fieldset>
  );
}

function PredictiveStateUpdates() {
  const { agent } = useAgent();
  useHumanInTheLoop({
    name: "confirm_changes",
    description: "Ask the user whether the changes are to be kept.",
    parameters: z.object({}),
    render: ({ respond, status, result }) => (
      <div data-testid="confirm">
        {status === "executing" && (
          <>
            <button onClick={() => void respond({ accepted: true })}>Accept</button>
            <button onClick={() => void respond({ accepted: false })}>Refuse</button>
          </>
        )}
        {status === "complete" && (JSON.parse(result).accepted ? "Accepted" : "Refused")}
      </div>
    ),
  });
  return (
    <article data-testid="document" aria-busy={agent.isRunning}>
      {agent.state?.document}
    </article>
  );
}

function ToolBasedGenerativeUI() {
  useComponent({
    name: "generate_haiku",
    description: "Show a haiku.",
    parameters: z.object({ japanese: z.array(z.string()), english: z.array(z.string()) }),
    render: ({ japanese = [], english = [] }) => (
      <ol data-testid="haiku">
        {japanese.map((line, at) => (
          <li key={at}>
            {line} – {english[at]}
          </li>
        ))}
      </ol>
    ),
  });
}

const PAGES = {
  agentic_chat: AgenticChat,
  agentic_generative_ui: Steps,
  dojo_human_in_the_loop: DojoHumanInTheLoop,
  dojo_subgraphs: DojoSubgraphs,
  human_in_the_loop: HumanInTheLoop,
  predictive_state_updates: PredictiveStateUpdates,
  shared_state: SharedState,
  subgraphs: Subgraphs,
  tool_based_generative_ui: ToolBasedGenerativeUI,
};

function App() {
  const [error, setError] = useState("");
  const Page = PAGES[given.get("graph")];
  return (
    <CopilotKitProvider runtimeUrl="/api/copilotkit" onError={({ error }) => setError(error.message)}>
      <Page />
      <div style={{ height: "70vh" }}>
        <CopilotChat threadId={location.hash.slice(1)} />
      </div>
      <p role="alert">{error}</p>
    </CopilotKitProvider>
  );
}

createRoot(document.getElementById("root")).render(<App />);
