/**
 * The server that the conformance suite examines. Its agents stand in for the tools that the suite calls.
 */
import { createServer as createHttpServer } from "node:http";
import { createAgent, createMemoryStore, defineTool } from "pawl";
import { createServer } from "pawl/server";
import { createScriptedModel } from "pawl/testing";
import { z } from "zod";

/** Starts the server. Returns the address of its MCP endpoint. */
export async function startServer() {
  const store = createMemoryStore();
  const http = createHttpServer();
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address();
  const server = createServer({
    store,
    agents: createAgents(store),
    authenticate: () => ({ id: "suite", scopes: ["read", "run", "approve"] }),
    hosts: [`localhost:${port}`, `127.0.0.1:${port}`],
    limits: { changesPerMinute: 100_000 },
    log: ({ error }) => error !== undefined && console.error(error),
  });
  http.on("request", server.listener);
  return {
    url: `http://localhost:${port}/mcp`,
    async close() {
      await server.drain?.();
      http.closeAllConnections();
      http.close();
    },
  };
}

function createAgents(store) {
  const create = (name, answers, tools = []) =>
    createAgent({ name, store, tools, retry: { maxRetries: 0 }, model: createScriptedModel(answers) });
  const confirm = defineTool({
    name: "confirm",
    description: "Asks a person.",
    input: z.object({ questions: z.number() }),
    durable: true,
    async execute({ questions }, { ask }) {
      const schema = z.object({ confirm: z.boolean().optional(), value: z.string().optional() }).loose();
      for (let index = 0; index < questions; index += 1)
        await ask({ message: `Continue (${index})?`, name: `q${index}`, schema });
      return "confirmed";
    },
  });
  return [
    create("test_simple_text", () => ({ text: "This is a simple text response for testing." })),
    create("test_error_handling", () => ({
      error: { kind: "fatal", message: "This tool intentionally returns an error for testing" },
    })),
    create(
      "confirm_delete",
      ({ messages }) =>
        messages.some(({ role }) => role === "assistant")
          ? { text: "deleted" }
          : { calls: [{ name: "confirm", input: { questions: 1 } }] },
      [confirm],
    ),
  ];
}
