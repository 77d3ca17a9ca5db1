/**
 * What a child may use of its parent's budget: a share of what is left, kept for it while it runs (TOOL-11).
 */
import { type Call, hasCalls, type RunLimits, type State } from "../../core/machine/state.js";
import { type AgentFamily, childAgentOf } from "../agent/agent-family.js";

/** The part of each budget that is kept for a child; only of those that are limited. */
export type Reserved = { readonly reservedTokens?: number; readonly reservedCostUsd?: number };

/**
 * The share of one call. Calls that start side by side are each given theirs in the order of the calls, so that together
 * they never get more than there is.
 */
export function reserveFor(callKey: string, state: State, family: AgentFamily): Reserved | "nothing" {
  if (!hasCalls(state)) return {};
  const { maxTokens, maxCostUsd } = state.limits;
  const { inputTokens = 0, outputTokens = 0, costUsd = 0 } = state.usage;
  const share = (limit: number, used: number, kept: (call: Call) => number | undefined) =>
    shareOf(callKey, state.calls, family, limit - used, kept);
  const reserved: Reserved = {
    ...(maxTokens === undefined
      ? {}
      : { reservedTokens: Math.floor(share(maxTokens, inputTokens + outputTokens, tokensFor)) }),
    ...(maxCostUsd === undefined ? {} : { reservedCostUsd: share(maxCostUsd, costUsd, costFor) }),
  };
  const { reservedTokens = 1, reservedCostUsd = 1 } = reserved;
  return reservedTokens < 1 || reservedCostUsd <= 0 ? "nothing" : reserved;
}

/** The limits of a child: its own, and no more than what is kept for it. */
export function within({ reservedTokens, reservedCostUsd }: Reserved, limits: RunLimits): RunLimits {
  return {
    ...limits,
    ...(reservedTokens === undefined
      ? {}
      : { maxTokens: Math.min(reservedTokens, limits.maxTokens ?? reservedTokens) }),
    ...(reservedCostUsd === undefined
      ? {}
      : { maxCostUsd: Math.min(reservedCostUsd, limits.maxCostUsd ?? reservedCostUsd) }),
  };
}

function shareOf(
  callKey: string,
  calls: readonly Call[],
  family: AgentFamily,
  left: number,
  kept: (call: Call) => number | undefined,
): number {
  let rest = left;
  for (const call of calls) if (call.status === "waiting") rest -= kept(call) ?? 0;
  for (const call of calls) {
    const child = call.status === "running" ? childAgentOf(call.name, family) : undefined;
    if (child === undefined) continue;
    const share = Math.max(0, rest) * child.budgetShare;
    if (call.callKey === callKey) return share;
    rest -= share;
  }
  return 0;
}

function tokensFor(call: Call): number | undefined {
  return call.status === "waiting" && call.on === "child" ? call.reservedTokens : undefined;
}

function costFor(call: Call): number | undefined {
  return call.status === "waiting" && call.on === "child" ? call.reservedCostUsd : undefined;
}
