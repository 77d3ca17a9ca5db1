/**
 * What the log of a session holds, over HTTP: steps, trace, requests, entries, blobs; and the sessions below it.
 */
import { describe, expect, test } from "vitest";
import { createAgent, type Store } from "../../src/index.js";
import { modelRequests, sessionSteps, traceSession } from "../../src/inspect.js";
import { createStreamView, type StreamFrame } from "../../src/server/client/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { type Rig, withServer } from "./rig.js";

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

/** Answers with so many steps of one call each, then with text. */
function walker(store: Store, steps: number) {
  const model = createScriptedModel(({ messages }) => {
    const done = messages.filter(({ role }) => role === "tool").length;
    return done % steps === 0 && messages.at(-1)?.role === "tool"
      ? { text: "Done." }
      : { calls: [{ name: "echo", input: { n: done } }] };
  });
  return createAgent({ name: "walker", store, model, tools: [createEchoTool().tool], systemPrompt: "Walk." });
}

async function pagesOf(ask: Rig["ask"], path: string, items: string) {
  const all: unknown[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const { json, status } = await ask("GET", `${path}after=${after}`);
    expect(status).toBe(200);
    all.push(...json[items]);
    after = json.next;
  }
  return all;
}

describe.each(localStores)("inspecting on $name", ({ open }) => {
  test("gives steps and trace by page, as the library does", verifies("SRV-1"), async () => {
    await withStore(open, (store) =>
      withServer({ store }, async ({ ask }) => {
        const agent = walker(store, 12);
        await agent.run("Go.", { sessionId: "s", runId: "r1" });
        await agent.run("Again.", { sessionId: "s", runId: "r2" });
        const { steps } = await sessionSteps(store, "s", { limit: 1_000 });
        expect(steps).toHaveLength(26);
        const { columns } = (await ask("GET", "/v1/sessions/s/steps")).json;
        const rows = (await pagesOf(ask, "/v1/sessions/s/steps?limit=5&", "steps")) as unknown[][];
        const named = rows.map((row) => Object.fromEntries(row.map((cell, at) => [columns[at], cell])));
        expect(named).toMatchObject(
          steps.map(({ seq, runId, modelCallIndex, attempts }) => ({ seq, runId, index: modelCallIndex, attempts })),
        );
        expect(named[1]).toMatchObject({ flags: [], calls: [["echo", "ok", expect.any(Number)]] });
        const trace = plain(await traceSession(store, "s"));
        expect(await pagesOf(ask, "/v1/sessions/s/trace?limit=5&", "records")).toEqual(trace);
        const traced = await pagesOf(ask, "/v1/sessions/s/trace?type=step&limit=5&", "records");
        expect(traced).toEqual(trace.filter(({ type }: { type: string }) => type === "step"));
        const besides = (await pagesOf(ask, "/v1/sessions/s/steps?limit=5&", "events")) as { type: string }[];
        expect(besides.map(({ type }) => type)).toEqual(["run_started", "final", "run_started", "final"]);
        const ofRun = await pagesOf(ask, "/v1/sessions/s/trace?runId=r2&limit=5&", "records");
        expect(ofRun).toEqual(trace.filter(({ runId }: { runId: string }) => runId === "r2"));
      }),
    );
  });

  test(
    "gives a request as it was sent, its tokens, and where it differs from the one before",
    verifies("SRV-1"),
    async () => {
      await withStore(open, (store) =>
        withServer({ store }, async ({ ask }) => {
          const agent = walker(store, 4);
          await agent.run("Go.", { sessionId: "s", runId: "r1" });
          await agent.run("Again.", { sessionId: "s", runId: "r2" });
          const sent = await collect(modelRequests(store, "s"));
          expect(sent).toHaveLength(10);
          for (const request of sent) {
            const path = `/v1/sessions/s/requests/${request.runId}/${request.modelCallIndex}`;
            const { json, status } = await ask("GET", path);
            expect(status).toBe(200);
            expect(json.request.messages).toEqual(plain(request.messages).slice(0, json.request.messages.length));
            expect(json.difference).toBeNull();
            expect(json.tokens.messages).toHaveLength(json.request.messages.length);
            expect(json.tokens.total).toBeGreaterThan(json.tokens.systemPrompt + json.tokens.tools);
          }
          for (const path of ["r1/6", "r3/1", "r1/0", "r1/x", "r1/1?attempt=2"])
            expect((await ask("GET", `/v1/sessions/s/requests/${path}`)).status, path).toBe(404);
          await agent.run("Other.", { sessionId: "t", runId: "r" });
          const changing = createAgent({
            name: "walker",
            store,
            model: createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "Done." }]),
            tools: [createEchoTool().tool],
            hooks: [
              { name: "prompts", beforeLLMCall: ({ modelCallIndex }) => ({ systemPrompt: `Step ${modelCallIndex}` }) },
            ],
          });
          await changing.run("Go.", { sessionId: "c", runId: "r" });
          const { difference } = (await ask("GET", "/v1/sessions/c/requests/r/2")).json;
          expect(difference).toMatchObject({ part: "systemPrompt", index: null });
          expect(difference.tokensLost).toBeGreaterThan(0);
        }),
      );
    },
  );

  test("gives entries by page, and a blob as an attachment that no browser shows", verifies("SRV-1"), async () => {
    await withStore(open, (store) =>
      withServer({ store }, async ({ ask }) => {
        await walker(store, 3).run("Go.", { sessionId: "s" });
        const hash = await store.putBlob("s", new TextEncoder().encode("<script>alert(1)</script>"));
        const entries = await pagesOf(ask, "/v1/sessions/s/entries?limit=4&", "entries");
        expect(entries).toEqual(plain(await store.read("s")));
        const blob = await ask("GET", `/v1/sessions/s/blobs/${hash}`);
        expect(blob.status).toBe(200);
        expect(Object.fromEntries(blob.headers)).toMatchObject({
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename="${hash}"`,
          "x-content-type-options": "nosniff",
        });
        for (const wrong of ["0".repeat(64), "x", `${hash}0`])
          expect((await ask("GET", `/v1/sessions/s/blobs/${wrong}`)).json.error.code).toBe("not_found");
      }),
    );
  });

  test("streams the sessions below, and goes on in all of them", verifies("STRM-11", "SRV-1"), async () => {
    await withStore(open, async (store) => {
      const helper = createAgent({
        name: "helper",
        store,
        model: createScriptedModel(() => ({ text: "Helped, word by word.", chunk: 4 })),
      });
      const model = createScriptedModel([{ calls: [{ name: "help", input: { task: "Help." } }] }, { text: "Done." }]);
      const tool = helper.asTool({ name: "help", description: "Helps." });
      const lead = createAgent({ name: "lead", store, model, tools: [tool] });
      await withServer({ store, agents: [lead, helper] }, async ({ ask, follow }) => {
        const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "lead", input: "Go." })).json;
        const path = `/v1/sessions/${sessionId}/stream?children=1`;
        const frames: StreamFrame[] = [];
        const told = follow(path);
        for await (const { frame } of told) {
          frames.push(frame);
          if (frame.data.type === "final" && "depth" in frame.data && frame.data.depth === 0) break;
        }
        const whole = frames.filter(({ id }) => id !== undefined);
        const depths = whole.map(({ data }) => ("depth" in data ? data.depth : -1));
        expect(new Set(depths)).toEqual(new Set([0, 1]));
        // A reader that comes back with any id is told exactly what follows.
        for (const at of [0, Math.floor(whole.length / 2), whole.length - 2]) {
          const rest: StreamFrame[] = [];
          for await (const { frame } of follow(path, { after: whole[at]?.id ?? "" })) {
            if (frame.id !== undefined) rest.push(frame);
            if (rest.length === whole.length - at - 1) break;
          }
          expect(rest).toEqual(whole.slice(at + 1));
        }
        const view = createStreamView();
        for (const frame of frames) expect(view.apply(frame)).not.toBe("reconnect");
        await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=30`);
        const bad = await ask("GET", path, undefined, { "last-event-id": "57.2~x" });
        expect(bad).toMatchObject({ status: 400, json: { error: { code: "bad_cursor" } } });
        const mixed = await ask("GET", `${path}&until=run`);
        expect(mixed).toMatchObject({ status: 400, json: { error: { code: "bad_input" } } });
        const children = (await ask("GET", `/v1/sessions?parent=${sessionId}`)).json.sessions;
        expect(children).toHaveLength(1);
      });
      await withServer({ store }, async ({ ask }) => {
        const [one] = (await ask("GET", "/v1/sessions")).json.sessions;
        const refused = await ask("GET", `/v1/sessions/${one.sessionId}/stream?children=1`);
        expect(refused).toMatchObject({ status: 409, json: { error: { code: "agent_mismatch" } } });
      });
    });
  });
});
