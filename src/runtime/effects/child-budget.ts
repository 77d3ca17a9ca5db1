/**
 * The budget of a child agent: a share of what its parent has left, reserved while the child runs (TOOL-11).
 */
import { defined } from "../../core/data/defined.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import { type Call, hasCalls, type State } from "../../core/machine/state.js";
import { type AgentFamily, childAgentOf } from "../agent/agent-family.js";

/** The part of each budget that is reserved for a child; undefined for a budget without a limit. */
export type Reserved = { readonly reservedTokens?: number; readonly reservedCostUsd?: number };

/**
 * The share of one call. If several calls start side by side, the shares are made in the order of the calls, so that together
 * they never exceed what is left.
 */
export function reserveFor(callKey: string, state: State, family: AgentFamily): Reserved | "nothing" {
  if (!hasCalls(state)) return {};
  const { maxTokens, maxCostUsd } = state.limits;
  const { inputTokens = 0, outputTokens = 0, costUsd = 0 } = state.usage;
  const share = (limit: number, used: number, reservedFor: (call: Call) => number | undefined) =>
    shareOf(callKey, state.calls, family, limit - used, reservedFor);
  const reservedTokens =
    maxTokens === undefined ? undefined : Math.floor(share(maxTokens, inputTokens + outputTokens, tokensFor));
  const reservedCostUsd = maxCostUsd === undefined ? undefined : share(maxCostUsd, costUsd, costFor);
  const isUsedUp = (reservedTokens ?? 1) < 1 || (reservedCostUsd ?? 1) <= 0;
  return isUsedUp ? "nothing" : defined({ reservedTokens, reservedCostUsd });
}

/** The limits of a child: its own, and no more than what is reserved for it. */
export function within({ reservedTokens, reservedCostUsd }: Reserved, limits: RunLimits): RunLimits {
  const maxTokens = least(reservedTokens, limits.maxTokens);
  const maxCostUsd = least(reservedCostUsd, limits.maxCostUsd);
  return { ...limits, ...defined({ maxTokens, maxCostUsd }) };
}

function least(reserved: number | undefined, limit: number | undefined): number | undefined {
  return reserved === undefined ? limit : Math.min(reserved, limit ?? reserved);
}

function shareOf(
  callKey: string,
  calls: readonly Call[],
  family: AgentFamily,
  left: number,
  reservedFor: (call: Call) => number | undefined,
): number {
  let rest = left;
  for (const call of calls) if (call.status === "waiting") rest -= reservedFor(call) ?? 0;
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
