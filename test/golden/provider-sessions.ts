/**
 * Recorded sessions of tools that a provider runs: it asks before it runs one, and it pauses in its turn.
 */
import type { ModelDelta } from "../../src/index.js";
import { agentOf } from "./agents.js";
import type { RecordedScenario } from "./sessions.js";

const refund = (id: string): readonly ModelDelta[] => [
  { kind: "tool-call", id, name: "mcp.refund", input: '{"order":42}', providerExecuted: true },
  { kind: "tool-approval-request", id, approvalId: `ask_${id}` },
];
const ran = (id: string): ModelDelta => ({
  kind: "tool-result",
  id,
  name: "mcp.refund",
  output: { type: "text", text: "refunded" },
});
const said = (id: string, text: string): ModelDelta => ({ kind: "text-delta", id, text });
const ends = (raw: string, unified: "stop" | "tool-calls" | "other" = "stop"): ModelDelta => ({
  kind: "done",
  finishReason: { unified, raw },
  usage: { inputTokens: 10, outputTokens: 5 },
});

const asksTwice = {
  deltas: [
    said("t", "I refund both."),
    ...refund("p1"),
    ...refund("p2"),
    { kind: "tool-call", id: "c1", name: "look", input: '{"n":1}' },
    ends("tool_use", "tool-calls"),
  ],
} as const;
const searches = {
  deltas: [
    said("t", "I search. "),
    { kind: "tool-call", id: "s1", name: "search", input: '{"q":"pawl"}', providerExecuted: true },
    ends("pause_turn", "other"),
  ],
} as const;
const finds = {
  deltas: [
    { kind: "tool-result", id: "s1", name: "search", output: { type: "json", value: ["a catch"] } },
    said("t", "A pawl is a catch."),
    ends("end_turn"),
  ],
} as const;

export const providerScenarios: readonly RecordedScenario[] = [
  {
    name: "provider-approvals",
    about: "a provider asks before it runs its own tool: one call is approved, one is denied; and cut off at a third",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) => {
        if (runId === "r2") return modelCallIndex === 1 ? { deltas: [...refund("p3"), ends("stop")] } : undefined;
        return [asksTwice, { deltas: [ran("p1"), said("t", "One is refunded."), ends("stop")] }][modelCallIndex - 1];
      }),
    async play({ bench, session, ask }) {
      await ask("Refund both.", "r");
      await session.answer("r/1/1", { type: "approve" }, { by: "Ada" });
      await session.answer("r/1/2", { type: "deny", note: "too dear" }, { by: "Ada" });
      await bench.settle();
      await ask("Refund another.", "r2");
    },
  },
  {
    name: "provider-pause",
    about: "a provider pauses in its turn, a steer waits for its end; then cut off while the provider goes on",
    parts: (bench) =>
      agentOf(({ runId, modelCallIndex, attempt }) => {
        if (modelCallIndex === 1) return searches;
        if (modelCallIndex > 2) return { text: "In one word: a catch." };
        if (runId === "r2" && attempt === 1) return { wait: new Promise(() => {}) };
        return { ...finds, wait: new Promise<void>((resolve) => bench.clock.after(1_000, resolve)) };
      }),
    async play({ session, bench, ask }) {
      await ask("What is a pawl?", "r");
      await session.send("In one word.", { mode: "steer" });
      await bench.clock.advance(1_000);
      await bench.settle();
      await ask("Search again.", "r2");
    },
  },
];
