/**
 * Aborts at every moment (docs/bad-input.md).
 */
import { expect, test } from "vitest";
import { defineTool, type Permission, type Store } from "../../src/index.js";
import type { Script } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { expectBadInputTable, type Row } from "./page.js";
import { runScene, type SceneCase, told } from "./scenes.js";

const anyInput = { type: "object" } as const;
const never = () => new Promise<never>(() => {});
const hang = defineTool({
  name: "work",
  description: "Works until it is signalled.",
  input: anyInput,
  execute: (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped by its signal")))),
});
const quick = defineTool({ name: "work", description: "Works.", input: anyInput, execute: () => "worked" });
const calls: Script = ({ messages }) =>
  messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "work" }, { name: "work" }] };

type Act = ReturnType<SceneCase["make"]>["act"];
const act: Act = async ({ session }) => [await told(session.abort({ by: "Ada" }))];

/** Holds the commit of this number back until it is released. */
function holding(number: number) {
  const held = createDeferred();
  let commits = 0;
  const storeOf = (inner: Store): Store => ({
    ...inner,
    async commit(lease, commit) {
      commits += 1;
      if (commits === number) await held.promise;
      return inner.commit(lease, commit);
    },
  });
  return { storeOf, release: held.resolve };
}

const cases: readonly SceneCase[] = [
  {
    input: "idle: another session, without any request so far",
    make: () => ({
      script: [{ text: "Done." }],
      tools: [],
      expectedStatus: "completed",
      act: async ({ agent }) => [await told(agent.session("other").abort())],
    }),
  },
  {
    input: "preparing: the run's signal was aborted beforehand",
    make: () => ({
      expectedStatus: "aborted",
      script: [{ text: "Never." }],
      tools: [],
      signal: AbortSignal.abort(),
      act: async () => [],
    }),
  },
  {
    input: "model_running",
    make: () => ({
      expectedStatus: "model_running",
      script: () => ({ wait: never(), text: "Never." }),
      tools: [],
      act,
    }),
  },
  {
    input: "model_running, in a backoff of 7 s",
    make: () => ({
      expectedStatus: "model_running",
      script: [{ error: { kind: "rate_limit", message: "slow down", retryAfterMs: 7_000 } }, { text: "Never." }],
      tools: [],
      act,
    }),
  },
  {
    input: "model_running, while its answer is being committed",
    make: () => {
      const { storeOf, release } = holding(2);
      return {
        expectedStatus: "model_running",
        script: calls,
        tools: [quick],
        storeOf,
        async act({ session }) {
          const aborted = told(session.abort());
          await settled();
          release();
          return [await aborted];
        },
      };
    },
  },
  { input: "tool_running", make: () => ({ expectedStatus: "tool_running", script: calls, tools: [hang], act }) },
  {
    input: "tool_running, one call at a time",
    make: () => ({
      expectedStatus: "tool_running",
      script: calls,
      tools: [hang],
      options: { limits: { toolConcurrency: 1 } },
      act,
    }),
  },
  {
    input: "tool_running, by two people at once",
    make: () => ({
      expectedStatus: "tool_running",
      script: calls,
      tools: [hang],
      act: ({ session, agent }) => Promise.all([told(session.abort()), told(agent.session("s").abort())]),
    }),
  },
  {
    input: "tool_running, a tool that ignores its signal",
    make: () => ({
      expectedStatus: "tool_running",
      script: calls,
      tools: [{ ...hang, execute: never }],
      async act({ session, clock }) {
        const said = await told(session.abort());
        await clock.waitFor(5_000);
        await clock.advance(5_000);
        return [said];
      },
    }),
  },
  {
    input: "awaiting_human",
    make: () => ({
      expectedStatus: "awaiting_human",
      script: calls,
      tools: [quick],
      options: { canExecuteTool: (): Permission => "ask" },
      act,
    }),
  },
  { input: "completed", make: () => ({ expectedStatus: "completed", script: calls, tools: [quick], act }) },
  {
    input: "failed",
    make: () => ({ expectedStatus: "failed", script: [{ error: { kind: "auth", message: "no" } }], tools: [], act }),
  },
  {
    input: "aborted, again by two people",
    make: () => ({
      expectedStatus: "aborted",
      script: [{ text: "Never." }],
      tools: [],
      signal: AbortSignal.abort(),
      act: ({ session, client }) => Promise.all([told(session.abort()), told(client.abort())]),
    }),
  },
];

const rows = new Map<string, Row>();

test.each(cases)("$input", verifies("REC-8", "LOOP-10#intent"), async (one) => {
  rows.set(one.input, await runScene(one));
});

test("the page says the same", () => {
  expect(rows.size).toBe(cases.length);
  expectBadInputTable(
    "Aborts",
    cases.flatMap((one) => rows.get(one.input) ?? []),
  );
});
