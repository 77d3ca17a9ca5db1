/**
 * Sessions over HTTP: begun, watched, steered, answered, aborted, copied and deleted, with a real server on loopback.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, createWorker, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createGateTool } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { collectFrames, pickLoggedEvents, withServer } from "./rig.js";

const writer = (store: Store) =>
  createAgent({
    name: "writer",
    store,
    model: createScriptedModel(({ messages }) => ({ text: `Answer ${messages.length}.` })),
  });

function payer(store: Store) {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays somebody.",
    input: { type: "object", properties: { amount: { type: "number" } } },
    needsApproval: true,
    execute: (input) => {
      paid.push(input);
      return "paid";
    },
  });
  const model = createScriptedModel([{ calls: [{ name: "pay", input: { amount: 7 } }] }, { text: "Paid." }]);
  return { agent: createAgent({ name: "payer", store, model, tools: [pay] }), paid };
}

describe.each(localStores)("a server on $name", ({ open }) => {
  test("begins a session, streams it to its end, and gives the result", async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [writer(store)] }, async ({ ask, follow }) => {
        const begun = await ask("POST", "/v1/sessions", { agent: "writer", input: "Write." });
        expect(begun.status).toBe(201);
        const { sessionId, runId, seq } = begun.json;
        expect(sessionId).toMatch(/^[\w-]{22}$/);
        expect(seq).toBe(0);
        const frames = await collectFrames(follow(`/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`));
        expect(frames[0]?.data).toMatchObject({ type: "open" });
        expect(frames.at(-1)?.data).toMatchObject({ type: "bye", why: "end" });
        const log = await collect(writer(store).session(sessionId).events({ follow: false }));
        expect(pickLoggedEvents(frames)).toEqual(JSON.parse(JSON.stringify(log)));
        const result = await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}`);
        expect(result).toMatchObject({ status: 200, json: { status: "completed", text: "Answer 1." } });
        const session = await ask("GET", `/v1/sessions/${sessionId}`);
        expect(session.json).toMatchObject({
          sessionId,
          status: "completed",
          info: { agent: "writer", principal: "token" },
        });
        const messages = await ask("GET", `/v1/sessions/${sessionId}/messages`);
        expect(messages.json.messages).toHaveLength(2);
      }),
    );
  });

  test("takes a repeated request once, and waits for its result", async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [writer(store)] }, async ({ ask }) => {
        const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "writer", input: "Write." })).json;
        const send = () =>
          ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "More." }, { "idempotency-key": "mine" });
        const answers = await Promise.all([send(), send(), send()]);
        expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
        expect(answers.filter(({ json }) => json.isNew)).toHaveLength(1);
        const waited = await ask("GET", `/v1/sessions/${sessionId}/runs/mine?wait=30`);
        expect(waited).toMatchObject({ status: 200, json: { status: "completed", runId: "mine" } });
        const unknown = await ask("GET", `/v1/sessions/${sessionId}/runs/other?wait=30`);
        expect(unknown).toMatchObject({ status: 404, json: { error: { code: "no_such_run" } } });
      }),
    );
  });

  test("begins one session for a repeated request, also with an id of one's own", async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [writer(store)] }, async ({ ask }) => {
        const begin = (key: string, own: object = {}) =>
          ask("POST", "/v1/sessions", { agent: "writer", input: "Write.", ...own }, { "idempotency-key": key });
        const [first, second] = await Promise.all([begin("k1"), begin("k1")]);
        const { sessionId } = first.json;
        expect(second).toMatchObject({ status: 201, json: { sessionId, runId: "k1" } });
        expect(await ask("GET", `/v1/sessions/${sessionId}/runs/k1?wait=30`)).toMatchObject({ status: 200 });
        expect(await begin("k1")).toMatchObject({ status: 201, json: { sessionId, runId: "k1" } });
        const { events } = (await ask("GET", `/v1/sessions/${sessionId}/events?type=run_started`)).json;
        expect(events).toHaveLength(1);

        const mine = { sessionId: "mine" };
        expect(await begin("k2", mine)).toMatchObject({ status: 201, json: { ...mine, runId: "k2" } });
        expect(await begin("k2", mine)).toMatchObject({ status: 201, json: { ...mine, runId: "k2" } });
        expect(await begin("k3", mine)).toMatchObject({ status: 409, json: { error: { code: "session_busy" } } });
        expect((await ask("GET", "/v1/sessions")).json.sessions).toHaveLength(2);
      }),
    );
  });

  test("shows what waits, and the first of two answers counts", async () => {
    await withStore(open, async (store) => {
      const { agent, paid } = payer(store);
      await withServer({ store, agents: [agent] }, async ({ ask }) => {
        const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "payer", input: "Pay." })).json;
        const waiting = await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=30`);
        expect(waiting.json).toMatchObject({ status: "awaiting_human" });
        const { approvals } = (await ask("GET", "/v1/approvals")).json;
        expect(approvals).toMatchObject([
          { sessionId, name: "pay", input: { amount: 7 }, tool: { description: "Pays somebody." } },
        ]);
        const { callKey, inputHash } = approvals[0];
        const path = `/v1/sessions/${sessionId}/answers`;
        const unbound = await ask("POST", path, { callKey, decision: { type: "approve" } });
        expect(unbound).toMatchObject({ status: 400, json: { error: { code: "bad_input" } } });
        const other = await ask("POST", path, { callKey, decision: { type: "approve" }, inputHash: "0".repeat(64) });
        expect(other).toMatchObject({ status: 400, json: { error: { code: "bad_input" } } });
        const first = await ask("POST", path, { callKey, inputHash, decision: { type: "approve" } });
        expect(first.json).toMatchObject({ counted: "first", answer: { type: "approve", by: "token" } });
        const second = await ask("POST", path, { callKey, inputHash, decision: { type: "deny" } });
        expect(second.json).toMatchObject({ counted: "second", answer: { type: "approve", by: "token" } });
        const result = await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=30`);
        expect(result.json).toMatchObject({ status: "completed", text: "Paid." });
        expect(paid).toEqual([{ amount: 7 }]);
      });
    });
  });

  test("steers and aborts a run, and says who did", async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
      const agent = createAgent({ name: "gated", store, model, tools: [gate.tool] });
      await withServer({ store, agents: [agent] }, async ({ ask, lines }) => {
        const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "gated", input: "Go." })).json;
        await gate.started;
        const at = `/v1/sessions/${sessionId}`;
        expect((await ask("DELETE", at)).json).toMatchObject({ error: { code: "session_active" } });
        expect((await ask("POST", `${at}/runs`, { input: "x", mode: "reject" })).status).toBe(409);
        expect((await ask("POST", `${at}/steer`, { input: "Hurry." })).status).toBe(204);
        expect((await ask("POST", `${at}/abort`, { runId, note: "Enough." })).json).toEqual({ outcome: "asked" });
        const result = await ask("GET", `${at}/runs/${runId}?wait=30`);
        expect(result.json).toMatchObject({ status: "aborted" });
        const { events, next } = (await ask("GET", `${at}/events?type=abort_requested`)).json;
        expect(events).toMatchObject([{ by: "token", note: "Enough." }]);
        expect(next).toBeNull();
        expect((await ask("POST", `${at}/abort`, {})).json).toEqual({ outcome: "nothing" });
        expect((await ask("POST", `${at}/steer`, { input: "Late." })).json).toMatchObject({
          error: { code: "run_finished" },
        });
        expect(lines.map(({ action, status }) => [action, status])).toContainEqual(["abort", 200]);
        const { sessionId: copy } = (await ask("POST", `${at}/fork`, {})).json;
        expect((await ask("GET", `/v1/sessions/${copy}`)).json).toMatchObject({ status: "aborted" });
        expect((await ask("DELETE", at)).status).toBe(204);
        expect((await ask("GET", at)).status).toBe(404);
      });
    });
  });

  test("lists sessions by page, and gives their events by page", async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [] }, async ({ ask }) => {
        const agent = writer(store);
        for (let index = 0; index < 5; index += 1) await agent.run("Write.", { sessionId: `s${index}` });
        const ids: string[] = [];
        for (let path = "/v1/sessions?limit=2"; ; ) {
          const { sessions, next } = (await ask("GET", path)).json;
          ids.push(...sessions.map((one: { sessionId: string }) => one.sessionId));
          if (next === null) break;
          path = `/v1/sessions?limit=2&cursor=${next}`;
        }
        expect(ids.toSorted()).toEqual(["s0", "s1", "s2", "s3", "s4"]);
        const log = await collect(agent.session("s1").events({ follow: false }));
        const events: unknown[] = [];
        for (let path = "/v1/sessions/s1/events?limit=3"; ; ) {
          const page = (await ask("GET", path)).json;
          events.push(...page.events);
          if (page.next === null) break;
          path = `/v1/sessions/s1/events?limit=3&after=${page.next}`;
        }
        expect(events).toEqual(JSON.parse(JSON.stringify(log)));
      }),
    );
  });

  test("without agents takes what a worker elsewhere carries out", async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [] }, async ({ ask, follow }) => {
        const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "writer", input: "Write." })).json;
        const frames = collectFrames(follow(`/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`));
        expect((await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}`)).status).toBe(202);
        await createWorker({ store, agents: [writer(store)] }).runUntilIdle();
        expect(pickLoggedEvents(await frames).at(-1)).toMatchObject({ type: "final", result: { text: "Answer 1." } });
      }),
    );
  });
});

test.each([
  [
    "throws",
    () => {
      throw new Error("The disk is full.");
    },
  ],
  ["rejects", () => Promise.reject(new Error("The disk is full."))],
])("a log that %s fails no request, and is reported as a process warning", async (_, log) => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => void warnings.push(message);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const store = createMemoryStore();
  await withServer({ store, agents: [writer(store)], log }, async ({ ask }) => {
    const begun = await ask("POST", "/v1/sessions", { agent: "writer", input: "Write." }, { "idempotency-key": "r" });
    expect(begun).toMatchObject({ status: 201, json: { runId: "r" } });
    expect(await ask("GET", "/v1/sessions/none")).toMatchObject({ status: 404 });
  });
  expect(warnings).toContain("The server's log failed: The disk is full.");
});
