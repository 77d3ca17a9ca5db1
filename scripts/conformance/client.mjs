/**
 * The client that the conformance suite examines: an agent whose tools are those of the suite's server. It makes the calls that a scenario asks
 * for, or calls each tool once.
 *
 * The suite starts a program for each scenario. That program is forward.mjs, which hands the scenario on to this process, because
 * 60 processes that load Pawl at the same time would exceed the suite's time limits.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { connectMcpServer, fileCredentials } from "pawl/tools/mcp";

/** On a busy machine, a scenario takes longer than a person would wait. */
const patienceMs = 300_000;

/** Starts to take scenarios from forward.mjs. Returns the address for it. */
export async function startClient() {
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    try {
      response.end(await playScenario(JSON.parse(Buffer.concat(chunks).toString())));
    } catch (error) {
      response.writeHead(500).end(String(error?.stack ?? error));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Returns what the client has seen, for the suite's log. */
async function playScenario({ url, scenario, context, version }) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-conformance-"));
  const login = scenario.startsWith("auth/") ? { login: createLogin(scenario, context, folder) } : {};
  const protocol = version < "2026" ? "2025-11-25" : "auto";
  let server;
  try {
    server = await connectMcpServer({
      name: "suite",
      transport: { type: "http", url, ...login },
      protocol,
      trust: "all",
      // The suite's server responds to all scenarios at the same time.
      connectTimeoutMs: patienceMs,
    });
    const calls = context.toolCalls?.map(({ name, arguments: input }) => ({ name: `suite_${name}`, input }));
    const lines = [
      ...server.problems,
      ...(await callTools(server.tools, calls ?? createCalls(server.tools), protocol)),
    ];
    return lines.map((line) => `${line}\n`).join("");
  } finally {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One call of each tool. A tool that takes a schema is given that of the first tool. */
function createCalls(tools) {
  return tools.map(({ name, input }) => {
    const sample = createSample(input);
    return { name, input: "schema" in sample ? { ...sample, schema: tools[0].input } : sample };
  });
}

async function callTools(tools, calls, protocol) {
  const model = createScriptedModel(({ messages }) =>
    calls.length === 0 || messages.some(({ role }) => role === "assistant") ? { text: "done" } : { calls },
  );
  const agent = createAgent({ name: "suite", model, tools: [...tools] });
  const session = agent.session("conformance");
  const stop = new AbortController();
  const answering = protocol === "2025-11-25" ? answerDuringRun(session, stop.signal) : null;
  let result = await agent.run("Call each tool.", { sessionId: session.id });
  while (result.status === "awaiting_human") {
    await answerPending(session);
    result = await session.resume();
  }
  stop.abort();
  await answering;
  const messages = await session.messages();
  const results = messages.flatMap(({ role, parts }) => (role === "tool" ? parts : []));
  return results.map(({ name, output }) => `${name}: ${JSON.stringify(output)}`);
}

/** The suite's authorization servers redirect without showing a page, so a request takes the place of a browser. */
function createLogin(scenario, { client_id: id, client_secret: secret }, folder) {
  const credentials = fileCredentials(join(folder, "logins.json"));
  const client = id === undefined ? {} : { client: { id, ...(secret === undefined ? {} : { secret }) } };
  if (scenario.startsWith("auth/client-credentials")) return { as: "client", credentials, ...client };
  return {
    as: "person",
    credentials,
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
    waitMs: 20_000,
    ...client,
    // The login itself fails if this request does not reach Pawl's page, which closes the connection after it has been called.
    show: (page) => void fetch(page).catch(() => {}),
  };
}

/** A server of 2025-11-25 asks while the run goes on. */
async function answerDuringRun(session, signal) {
  for await (const { type } of session.events({ live: false, signal }))
    if (type === "approval_requested") await answerPending(session);
}

/** Sends only what a form requires: the client fills in the defaults of the other fields. */
async function answerPending(session) {
  for (const { callKey, questionId, schema } of await session.pendingApprovals())
    await session.answer(callKey, { type: "reply", value: createSample(schema ?? {}, "required") }, { questionId });
}

/** A value that fits a schema of the suite. `which`: all properties of objects, or only those that have to be given. */
function createSample(schema, which = "all") {
  const { type, properties = {}, required = [], enum: [choice] = [] } = schema;
  if (schema.default !== undefined) return schema.default;
  if (choice !== undefined) return choice;
  switch (type) {
    case "number":
    case "integer":
      return 5;
    case "boolean":
      return true;
    case "array":
      return [];
    case "string":
      return "text";
    default: {
      const isNeeded = (name) => required.includes(name) && properties[name].default === undefined;
      const names = Object.keys(properties).filter((name) => which === "all" || isNeeded(name));
      return Object.fromEntries(names.map((name) => [name, createSample(properties[name], which)]));
    }
  }
}
