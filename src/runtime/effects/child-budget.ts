/**
 * The budget of a child agent: a share of its parent's remaining budget, reserved while the child runs (TOOL-11).
 */
import { defined } from "../../core/data/defined.js";
import { findBackgroundChildren, sumReserved } from "../../core/machine/background-children.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import { type Call, hasCalls, type State } from "../../core/machine/state.js";
import { type AgentFamily, findChildAgent } from "../agent/agent-family.js";
import { childLimitReached, childrenAtOnceReached } from "./prompts.js";

/** The part of each budget that is reserved for a child; undefined for a budget without a limit. */
export type ReservedBudget = { readonly reservedTokens?: number; readonly reservedCostUsd?: number };

/**
 * The share of one call. If several calls start in parallel, their shares are computed in the order of the calls, so that together they
 * never exceed the remaining budget.
 */
export function reserveBudget(callKey: string, state: State, family: AgentFamily): ReservedBudget | "nothing" {
  if (!hasCalls(state)) return {};
  const { maxTokens, maxCostUsd } = state.limits;
  const { inputTokens = 0, outputTokens = 0, costUsd = 0 } = state.usage;
  const kept = (field: "reservedTokens" | "reservedCostUsd") => sumReserved(state.background, field);
  const share = (limit: number, used: number, reservedFor: (call: Call) => number | undefined) =>
    computeShare(callKey, state.calls, family, limit - used, reservedFor);
  const reservedTokens =
    maxTokens === undefined
      ? undefined
      : Math.floor(share(maxTokens, inputTokens + outputTokens + kept("reservedTokens"), getReservedTokens));
  const reservedCostUsd =
    maxCostUsd === undefined ? undefined : share(maxCostUsd, costUsd + kept("reservedCostUsd"), getReservedCost);
  const isUsedUp = (reservedTokens ?? 1) < 1 || (reservedCostUsd ?? 1) <= 0;
  return isUsedUp ? "nothing" : defined({ reservedTokens, reservedCostUsd });
}

/** Why the call may not start a child, in words for the model; undefined if it may. Parallel calls count in their order. */
export function findReachedChildLimit(
  callKey: string,
  isBackground: boolean,
  state: State,
  family: AgentFamily,
): string | undefined {
  if (!hasCalls(state)) return undefined;
  const { maxChildren, maxChildrenAtOnce } = state.limits;
  const starting = state.calls
    .filter(({ status, name }) => status === "running" && findChildAgent(name, family) !== undefined)
    .findIndex((call) => call.callKey === callKey);
  const started = (state.counters.children ?? 0) + Math.max(0, starting);
  if (maxChildren !== undefined && started >= maxChildren) return childLimitReached(maxChildren);
  const atWork = findBackgroundChildren(state).length + Math.max(0, starting);
  return isBackground && maxChildrenAtOnce !== undefined && atWork >= maxChildrenAtOnce
    ? childrenAtOnceReached(maxChildrenAtOnce)
    : undefined;
}

/** The limits of a child: its own limits, capped by the reserved budget. */
export function limitToReserved({ reservedTokens, reservedCostUsd }: ReservedBudget, limits: RunLimits): RunLimits {
  const maxTokens = lowerLimit(reservedTokens, limits.maxTokens);
  const maxCostUsd = lowerLimit(reservedCostUsd, limits.maxCostUsd);
  return { ...limits, ...defined({ maxTokens, maxCostUsd }) };
}

function lowerLimit(reserved: number | undefined, limit: number | undefined): number | undefined {
  return reserved === undefined ? limit : Math.min(reserved, limit ?? reserved);
}

function computeShare(
  callKey: string,
  calls: readonly Call[],
  family: AgentFamily,
  available: number,
  reservedFor: (call: Call) => number | undefined,
): number {
  let remaining = available;
  for (const call of calls) if (call.status === "waiting") remaining -= reservedFor(call) ?? 0;
  for (const call of calls) {
    const child = call.status === "running" ? findChildAgent(call.name, family) : undefined;
    if (child === undefined) continue;
    const share = Math.max(0, remaining) * child.budgetShare;
    if (call.callKey === callKey) return share;
    remaining -= share;
  }
  return 0;
}

function getReservedTokens(call: Call): number | undefined {
  return call.status === "waiting" && call.on === "child" ? call.reservedTokens : undefined;
}

function getReservedCost(call: Call): number | undefined {
  return call.status === "waiting" && call.on === "child" ? call.reservedCostUsd : undefined;
}
