/**
 * `pawl/server/client`, as the package has it, in Chromium: a page of another origin begins a session, watches it, loses its
 * connection in the middle of a message, comes back, and answers a call that waits.
 */
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { openBrowser } from "../inspector/browser.js";
import { collect, createDeferred } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

/** The program of the page. It knows the client, and otherwise only `fetch`. */
const program = `
import { followSession } from "/dist/server/client/index.js";

const seen = { events: [], types: [], texts: [], text: "", streams: 0, isOver: false, error: null };
globalThis.seen = seen;

globalThis.run = async ({ url, token }) => {
  const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
  const ask = async (method, path, body) => {
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(url + path, init);
    if (!answer.ok) throw new Error(path + " gave " + answer.status + ": " + (await answer.text()));
    return answer.json();
  };
  const counting = (...given) => {
    seen.streams += 1;
    return fetch(...given);
  };
  const { sessionId, runId } = await ask("POST", "/v1/sessions", { agent: "payer", input: "Pay one cent" });
  seen.sessionId = sessionId;
  const at = url + "/v1/sessions/" + sessionId + "/stream?until=run&runId=" + runId;
  for await (const { frame, applied, view } of followSession({ url: at, headers, fetch: counting, retryMs: 10 })) {
    const { data } = frame;
    seen.types.push(data.type);
    if (applied === "event") seen.events.push({ id: frame.id, data });
    seen.text = view.partial()?.message.parts.map((part) => part.text ?? "").join("") ?? "";
    if (seen.text !== "") seen.texts.push(seen.text);
    if (data.type !== "approval_requested") continue;
    const { waiting } = await ask("GET", "/v1/sessions/" + sessionId);
    for (const { callKey, inputHash } of waiting)
      seen.answered = await ask("POST", "/v1/sessions/" + sessionId + "/answers", {
        callKey, inputHash, decision: { type: "approve" },
      });
  }
  seen.isOver = true;
};
`;

/** A page at an origin of its own, and the files of the package. */
async function pageServer(): Promise<string> {
  const http = createHttpServer(({ url = "/" }, response) => {
    if (url === "/")
      return response
        .writeHead(200, { "content-type": "text/html" })
        .end('<!doctype html><title>A page</title><script type="module" src="/program.js"></script>');
    response.setHeader("content-type", "text/javascript");
    if (url === "/program.js") return response.end(program);
    if (/^\/dist\/[a-z/-]+\.js$/.test(url)) return response.end(readFileSync(resolve(`.${url}`)));
    return response.writeHead(404).end();
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

const halves = ["The first half, ", "and the second."] as const;

/** Says a half, waits, says the other half and pays; then says that it has paid. */
function payer(gate: Promise<void>) {
  return createScriptedModel(({ modelCallIndex }) => {
    if (modelCallIndex > 1) return { text: "It is paid." };
    return {
      deltas: (async function* () {
        yield { kind: "text-start", id: "t" } as const;
        yield { kind: "text-delta", id: "t", text: halves[0] } as const;
        await gate;
        yield { kind: "text-delta", id: "t", text: halves[1] } as const;
        yield { kind: "text-end", id: "t" } as const;
        yield { kind: "tool-call", id: "c", name: "pay", input: '{"cents":1}' } as const;
        yield { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} } as const;
      })(),
    };
  });
}

test(
  "the client in Chromium begins a run, watches it, is cut off, goes on and answers",
  verifies("PROT-5"),
  async () => {
    const gate = createDeferred();
    const store = createMemoryStore();
    const paid: unknown[] = [];
    const agent = createAgent({ name: "payer", store, model: payer(gate.promise), tools: [createPayTool(paid)] });
    const origin = await pageServer();
    const { url, token, breakConnections } = await startTestServer({ store, agents: [agent], origins: [origin] });
    const context = await (await openBrowser()).newContext();
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    await page.goto(origin);
    await page.waitForFunction("globalThis.run !== undefined");
    await page.evaluate(
      `void run(${JSON.stringify({ url, token })}).catch((error) => { seen.error = String(error); })`,
    );

    const hasFirstHalf = `seen.error !== null || seen.text === ${JSON.stringify(halves[0])}`;
    await page.waitForFunction(hasFirstHalf);
    await page.evaluate('seen.text = ""');
    breakConnections();
    // It comes back by itself, and is told the message as far as it has come.
    await page.waitForFunction(hasFirstHalf);
    gate.resolve();
    await page.waitForFunction("seen.error !== null || seen.isOver");

    type Seen = {
      readonly sessionId: string;
      readonly events: readonly { readonly id: string; readonly data: unknown }[];
      readonly types: readonly string[];
      readonly texts: readonly string[];
      readonly streams: number;
      readonly answered: unknown;
      readonly error: string | null;
    };
    const seen = await page.evaluate<Seen>("seen");
    expect(seen.error).toBeNull();
    expect(seen.streams).toBe(2);
    expect(seen.types).toContain("snapshot");
    expect(seen.answered).toMatchObject({ counted: "first" });
    expect(paid).toEqual([{ cents: 1 }]);
    const log = await collect(agent.session(seen.sessionId).events({ follow: false }));
    const events = log.flatMap((event) => ("seq" in event ? [event] : []));
    expect(seen.events.map(({ id }) => id)).toEqual(events.map(({ seq, index }) => `${seq}.${index}`));
    expect(seen.events.map(({ data }) => data)).toEqual(JSON.parse(JSON.stringify(events)));
    const said = halves.join("");
    for (const text of seen.texts) expect(said.startsWith(text) || "It is paid.".startsWith(text)).toBe(true);
    expect(seen.texts).toContain(said);
  },
);
