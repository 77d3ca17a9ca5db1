/**
 * Random values that events carry.
 */
import type {
  AfterFailure,
  Answer,
  AssistantPart,
  CallPolicy,
  MessageRef,
  PolicyDecision,
  RunLimits,
} from "../../src/core/index.js";
import type { Chance } from "./chance.js";
import { type Session, testLimits } from "./session.js";

export function randomLimits(chance: Chance): RunLimits {
  const isTight = chance.oneIn(2);
  return {
    ...testLimits,
    maxSteps: isTight ? 1 + chance.below(4) : 200,
    maxErrors: isTight ? 1 + chance.below(3) : 20,
    onMaxSteps: chance.pick(["summary", "stop"]),
    toolConcurrency: chance.pick([1, 2, 8]),
    maxContinuations: chance.below(3),
    maxStopPreventions: chance.below(3),
    maxCompactions: 1 + chance.below(4),
    ...(chance.oneIn(4) ? { maxTokens: 20 + chance.below(200) } : {}),
    ...(chance.oneIn(4) ? { maxCostUsd: 1 + chance.below(5) } : {}),
    ...(chance.oneIn(4) ? { maxWallClockMs: 1_000 + chance.below(20_000) } : {}),
    ...(chance.oneIn(4) ? { wallClockIncludesWaiting: true } : {}),
    ...(chance.oneIn(4) ? { maxToolCallsPerStep: 1 + chance.below(3) } : {}),
    ...(chance.oneIn(4) ? { requireDoneTool: true } : {}),
    ...(chance.oneIn(3) ? { maxHandoffs: chance.below(3) } : {}),
  };
}

export function randomAfterFailure(chance: Chance): AfterFailure {
  return chance.pick<AfterFailure>([
    { type: "retry", inMs: 0 },
    { type: "retry", inMs: 100 },
    { type: "fallback", index: 1 },
    { type: "compact" },
    { type: "give_up", reason: "model_error" },
  ]);
}

/** References to the conversation and to the entry that holds them, messages in place and blobs; some name nothing. */
export function randomReferences({ transcript: { seqs } }: Session, chance: Chance): readonly MessageRef[] {
  return Array.from({ length: 1 + chance.below(4) }, (): MessageRef => {
    const from = seqs[chance.below(Math.max(1, seqs.length))] ?? 1;
    if (chance.oneIn(2)) return [from, chance.below(2), 1 + chance.below(6)];
    if (chance.oneIn(2)) return [0, chance.below(2), 1];
    return chance.oneIn(2)
      ? { message: { role: "user", parts: [{ type: "text", text: "in place" }] } }
      : { blob: `blob ${chance.below(3)}` };
  });
}

/** Ids that repeat, within a message and across, and empty ones. */
export function randomParts(chance: Chance): readonly AssistantPart[] {
  const parts: AssistantPart[] = [];
  if (chance.oneIn(3)) parts.push({ type: "reasoning", text: "hm" });
  if (!chance.oneIn(3)) parts.push({ type: "text", text: "words" });
  for (let count = chance.below(4); count > 0; count -= 1) {
    const toolCallId = chance.pick(["", "x", "y", `t${chance.below(20)}`]);
    parts.push({ type: "tool_call", toolCallId, name: chance.pick(["one", "two"]), input: { n: count } });
  }
  if (chance.oneIn(6)) {
    const call = { toolCallId: "x", name: "web", providerExecuted: true };
    parts.push({ type: "tool_call", ...call, input: {} });
    parts.push({ type: "tool_result", ...call, output: { type: "text", text: "found" } });
  }
  if (chance.oneIn(8))
    parts.push({ type: "tool_call", toolCallId: "p", name: "web", input: {}, providerExecuted: true });
  if (chance.oneIn(6)) {
    const call = { toolCallId: "x", name: "mcp.pay", providerExecuted: true, approvalId: `mcpr_${chance.below(9)}` };
    parts.push({ type: "tool_call", ...call, input: {} });
  }
  return parts;
}

export function randomPolicy(chance: Chance): CallPolicy {
  if (chance.oneIn(5)) return { recover: "rerun", handoff: chance.pick(["a", "b"]) };
  return {
    recover: chance.pick(["rerun", "ask", "fail", "reconcile"]),
    ...(chance.oneIn(4) ? { sequential: true } : {}),
    ...(chance.oneIn(3) ? { retry: { attempts: 1 + chance.below(4), baseMs: 100, maxMs: 1_000 } } : {}),
    ...(chance.oneIn(4) ? { graceMs: 100 } : {}),
    ...(chance.oneIn(3) ? { durable: true } : {}),
    ...(chance.oneIn(6) ? { external: true } : {}),
    ...(chance.oneIn(6) ? { provider: true } : {}),
  };
}

export function randomDecision({ state, at }: Session, chance: Chance): PolicyDecision {
  const changed = chance.oneIn(4) ? { input: { changed: true } as const } : {};
  const stops = chance.oneIn(12) ? { stopRun: true as const } : {};
  const policy = randomPolicy(chance);
  return { ...randomPlainDecision(policy, changed, stops, { state, at }, chance), ...randomRepair(chance) };
}

/** The call may have been mended first. */
function randomRepair(chance: Chance): Pick<PolicyDecision, "repair"> {
  if (!chance.oneIn(6)) return {};
  const name = chance.oneIn(2) ? { name: chance.pick(["one", "two"]) } : {};
  return { repair: { by: chance.pick(["near_name", "json", "custom"]), problem: "no such tool", ...name } };
}

function randomPlainDecision(
  policy: CallPolicy,
  changed: { readonly input?: { readonly changed: true } },
  stops: { readonly stopRun?: true },
  { state, at }: Pick<Session, "state" | "at">,
  chance: Chance,
): PolicyDecision {
  return chance.pick<PolicyDecision>([
    { verdict: "allow", policy, ...changed },
    { verdict: "allow", policy },
    { verdict: "allow", policy, inputHash: "h" },
    { verdict: "ask", policy, inputHash: `h${state.seq}`, ...changed },
    { verdict: "ask", policy, inputHash: "h", expiresAt: at + 50 },
    { verdict: "allow", policy },
    { verdict: "allow", policy },
    { verdict: "deny", reason: "no", ...stops },
    { verdict: "block", reason: "blocked", ...stops },
    { verdict: "block", reason: "again", repeated: true, ...stops },
    { verdict: "reject", message: "unknown tool" },
  ]);
}

export function randomAnswer(chance: Chance): Answer {
  return chance.pick<Answer>([
    { type: "approve" },
    { type: "approve" },
    { type: "deny", note: "no" },
    { type: "modify", input: { edited: true }, inputHash: "edited" },
    { type: "rerun" },
    { type: "result", output: { type: "text", text: "by hand" } },
    { type: "result", output: { type: "text", text: "by hand" }, isError: true },
    { type: "fail", note: "gone" },
    { type: "reply", value: { n: 1 } },
    { type: "decline" },
  ]);
}
