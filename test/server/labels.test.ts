/**
 * Labels of sessions and reports of evals over HTTP.
 */
import { describe, expect, test } from "vitest";
import { createCase, evaluate, inRecord, sameCalls } from "../../src/evals/index.js";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";
import { withServer } from "./rig.js";

function createEcho(store: Store) {
  return createAgent({
    name: "echo",
    store,
    model: createScriptedModel(() => ({ text: "Hello." }), { record: false }),
  });
}

describe("A label", verifies("EVAL-2#page"), () => {
  test("is set, replaced and removed, and a case takes it along with who gave it", async () => {
    const store = createMemoryStore();
    const agent = createEcho(store);
    await agent.run("Hello?", { sessionId: "s" });
    await withServer({ store, agents: [agent] }, async ({ ask }) => {
      const path = "/v1/sessions/s/label";
      expect((await ask("GET", path)).json).toEqual({ label: null });
      const set = await ask("POST", path, { good: false, note: "too short" });
      expect([set.status, set.json]).toEqual([200, { label: { good: false, note: "too short" } }]);
      await expect
        .poll(async () => (await createCase(store, "s")).label)
        .toMatchObject({ good: false, note: "too short" });
      await ask("POST", path, { good: true });
      await expect.poll(async () => (await ask("GET", path)).json).toEqual({ label: { good: true } });
      expect((await ask("DELETE", path)).status).toBe(204);
      await expect.poll(async () => (await ask("GET", path)).json).toEqual({ label: null });
      expect((await ask("POST", path, { note: "no verdict" })).status).toBe(400);
      expect((await ask("POST", "/v1/sessions/nobody/label", { good: true })).status).toBe(404);
    });
  });
});

describe("Reports of evals", verifies("EVAL-2#page"), () => {
  test("are listed without their trials, and given whole by name", async () => {
    const store = createMemoryStore();
    const agent = createEcho(store);
    await agent.run("Hello?", { sessionId: "s" });
    const cases = [await createCase(store, "s")];
    const report = await evaluate({ name: "echoes", agent, cases, judges: [inRecord(), sameCalls()], store });
    await withServer({ store, work: false, evalReports: async () => [report] }, async ({ ask }) => {
      const { evals } = (await ask("GET", "/v1/evals")).json;
      expect(evals).toMatchObject([{ name: "echoes", trialCount: 1, variants: { agent: { passed: 1 } } }]);
      expect(evals[0].trials).toBeUndefined();
      const whole = (await ask("GET", "/v1/evals/echoes")).json.report;
      expect(whole.trials).toMatchObject([{ case: "s", recordedSessionId: "s" }]);
      const log = await ask("GET", `/v1/sessions/${whole.trials[0].sessionId}/events`);
      expect(log.json.events.at(-1)).toMatchObject({ type: "final" });
      expect((await ask("GET", "/v1/evals/others")).status).toBe(404);
    });
    await withServer({ store, work: false }, async ({ ask }) => {
      expect((await ask("GET", "/v1/evals")).json).toEqual({ evals: [] });
    });
  });
});
