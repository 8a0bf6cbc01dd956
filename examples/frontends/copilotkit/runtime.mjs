// CopilotKit's runtime in front of the agent, and the page: `npm start`, then http://127.0.0.1:4000.
import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { CopilotRuntime, InMemoryAgentRunner, createCopilotHonoHandler } from "@copilotkit/runtime/v2";
import { LangGraphHttpAgent } from "@copilotkit/runtime/langgraph";

const { AGENT_URL = "http://127.0.0.1:8017/agent", PORT = "4000" } = process.env;

const runtime = new CopilotRuntime({
  agents: { default: new LangGraphHttpAgent({ url: AGENT_URL }) },
  runner: new InMemoryAgentRunner(),
});
const app = new Hono();
app.route("/", createCopilotHonoHandler({ runtime, basePath: "/api/copilotkit" }));
app.use(serveStatic({ root: new URL("dist", import.meta.url).pathname }));

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(PORT) }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
