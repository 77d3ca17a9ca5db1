/**
 * What hooks do badly (docs/bad-input.md), at each of the points where they are called.
 */
import { expect, test } from "vitest";
import type { HookPoint } from "../../src/core/index.js";
import type { Agent, AnyTool, Hook, HookContext, Model } from "../../src/index.js";
import { hookPoints } from "../../src/runtime/agent/compile-hooks.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { writeCompactedSession } from "../support/compacted-session.js";
import { verifies } from "../verifies.js";
import { type Case, runCase } from "./cases.js";
import { expectBadInputTable, type Row } from "./page.js";

const never = () => new Promise<never>(() => {});

/** What each point is called with that may not be returned there, though it looks as if it might. */
const tooMuch = {
  beforeRun: { input: "Other.", systemPrompt: "Other." },
  beforeStep: { systemPrompt: "Other." },
  beforeLLMCall: { systemPrompt: "Other.", messages: [] },
  besideLLMCall: { trip: "no", message: "Other." },
  afterLLMCall: { message: { role: "assistant", parts: [] } },
  beforeToolCall: { input: { n: 2 }, name: "other" },
  afterToolCall: { output: "other", isError: false },
  afterStep: { input: "Go on." },
  beforeStop: { message: "Go on.", reason: "done" },
  onError: { retryInMs: 5 },
  onCompacted: { summary: "Other." },
  afterRun: { text: "Other." },
} as const satisfies { readonly [Point in HookPoint]: object };

/** Values that are of no use anywhere. */
const rubbish = {
  beforeRun: { input: [{ role: "system", parts: [] }] },
  beforeStep: 0,
  beforeLLMCall: { activeTools: ["rm"] },
  besideLLMCall: { trip: 5 },
  afterLLMCall: [],
  beforeToolCall: { block: 5 },
  afterToolCall: null,
  afterStep: "thanks",
  beforeStop: { message: "" },
  onError: "again",
  onCompacted: Symbol("no"),
  afterRun: new Proxy(
    {},
    {
      ownKeys() {
        throw new Error("hands off");
      },
    },
  ),
} as const satisfies { readonly [Point in HookPoint]: unknown };

type Misdeed = {
  readonly what: string;
  readonly onFailure?: "open" | "closed";
  /** Time has to pass until it is cut off. */
  readonly takesMs?: number;
  /** Done the first time that the hook is called. */
  readonly act: (point: HookPoint, subject: object, context: HookContext, agent: Agent) => unknown;
};

/** Changes whatever it can reach. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) spoil(inner);
  const [key = "spoilt"] = Object.keys(value);
  (value as { [key: string]: unknown })[key] = "spoilt";
}

const misdeeds: readonly Misdeed[] = [
  { what: "never settles", takesMs: 10_000, act: never },
  {
    what: "throws",
    act() {
      throw new Error("broken");
    },
  },
  { what: "rejects with `undefined`", act: () => Promise.reject(undefined) },
  { what: "returns an invalid value", act: (point) => rubbish[point] },
  { what: "returns something that this point does not accept", act: async (point) => tooMuch[point] },
  { what: "modifies its argument", act: (_, subject) => spoil(subject) },
  {
    what: "starts a run in its own session and waits for it",
    takesMs: 10_000,
    act: (_, __, ___, agent) => agent.run("Again", { sessionId: "s", runId: "inner" }),
  },
  {
    what: "throws, `onFailure: closed`",
    onFailure: "closed",
    act() {
      throw new Error("broken");
    },
  },
  { what: "never settles, `onFailure: open`", onFailure: "open", takesMs: 10_000, act: never },
];

/** Calls the tool once, then ends; where its failures are looked at, its first attempt fails. */
function modelFor(point: HookPoint): Model {
  return createScriptedModel(({ messages, attempt }) => {
    if (point === "onError" && attempt === 1 && messages.at(-1)?.role === "user")
      return { error: { kind: "overloaded", message: "busy" } };
    return messages.some(({ role }) => role === "assistant")
      ? { text: "Done." }
      : { calls: [{ name: "echo", input: { n: 1 } }] };
  });
}

const echo: AnyTool = {
  name: "echo",
  description: "Gives its input back.",
  input: { type: "object" },
  execute: (input) => `echo ${JSON.stringify(input)}`,
};

function caseOf(point: HookPoint, { what, onFailure, takesMs, act }: Misdeed): Case {
  return {
    input: `\`${point}\` ${what}`,
    make(agent) {
      const called = createDeferred();
      let acted: unknown;
      let calls = 0;
      const hook: Hook = {
        name: "bad",
        ...(onFailure === undefined ? {} : { onFailure }),
        [point](subject: object, context: HookContext) {
          calls += 1;
          if (calls > 1) return undefined;
          called.resolve();
          acted = act(point, subject, context, agent());
          return acted;
        },
      };
      return {
        script: modelFor(point),
        tools: [echo],
        options: { hooks: [hook], retry: { decide: () => ({ retryInMs: 0 }) } },
        ...(point === "onCompacted" ? { writeLog: writeCompactedSession } : {}),
        async meanwhile({ clock }) {
          await called.promise;
          if (takesMs === undefined) return;
          await clock.waitFor(takesMs);
          await clock.advance(takesMs);
          // A run that a hook started goes on after its own.
          if (act !== never) await acted;
        },
      };
    },
    check({ items }) {
      expect(JSON.stringify(items)).not.toContain("spoilt");
      const failed = items.filter((item) => item.type === "hook_failed");
      expect(failed).toMatchObject([{ name: "bad", hook: point }]);
    },
  };
}

/** `open` is said where it is not what holds anyway, and so is `closed`. */
const byDefaultClosed: readonly HookPoint[] = ["beforeToolCall", "afterToolCall"];
const cases = hookPoints.flatMap((point) =>
  misdeeds
    .filter(({ onFailure }) => onFailure === undefined || byDefaultClosed.includes(point) === (onFailure === "open"))
    .map((misdeed) => caseOf(point, misdeed)),
);

const rows = new Map<string, Row>();

test.each(cases)("$input", verifies("HOOK-2", "HOOK-3"), async (one) => {
  rows.set(one.input, await runCase(one));
});

test("the page says the same", () => {
  expect(rows.size).toBe(cases.length);
  expectBadInputTable(
    "Hooks",
    cases.flatMap((one) => rows.get(one.input) ?? []),
  );
});
