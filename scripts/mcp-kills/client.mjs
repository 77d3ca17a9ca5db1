/**
 * The client of the trials: an agent that calls `pawl` over MCP. Argument: its options as JSON. It exits with 0 when its run has ended, and
 * with 3 when the run waits for a person.
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { createAgent } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { connectMcpServer } from "pawl/tools/mcp";
import { openPlace } from "../chaos/store.mjs";

const { place, transport, prompt, sessionId } = JSON.parse(process.argv[2]);

/** The server may be dead at this moment: it is started again. */
async function connect() {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await connectMcpServer({ name: "s", trust: "all", protocol: "2026-07-28", transport });
    } catch (error) {
      if (attempt === 100) throw error;
      await pause(200);
    }
}

const store = await openPlace(place);
const server = await connect();
const agent = createAgent({
  name: "caller",
  store,
  model: createScriptedModel(({ modelCallIndex }) =>
    modelCallIndex === 1 ? { calls: [{ name: "s_pawl", input: { prompt } }] } : { text: "Done." },
  ),
  tools: [...server.tools],
});
const { status } = await agent.run("Go", { sessionId, runId: "run" });
await server.close();
await store.close();
process.exitCode = status === "awaiting_human" ? 3 : 0;
