/**
 * Invariants of the session's data. Each tool of the simulation whose input is even counts itself once, whoever dies.
 */
import type { DataPatch } from "../../../src/core/data/session-data.js";
import type { Event } from "../../../src/core/machine/event.js";
import { type Breach, createBreach, type History, type Invariant } from "../../../src/testing/world/history.js";

export const dataInvariants: readonly Invariant[] = [
  { number: 5, name: "a call changes the session's data once, and builds on what is committed", check: countedOnce },
];

function countedOnce({ log, rows, facts }: History): Breach | undefined {
  const counts = new Set(
    facts.flatMap((fact) => (fact.type === "tool_started" && isCounted(fact) ? fact.callKey : [])),
  );
  const counted = new Set<string>();
  for (const { seq, event } of log) {
    if (!("callKey" in event) || event.callKey === undefined) continue;
    const { callKey } = event;
    const patch = patchIn(event);
    const value = patch?.set?.counted;
    if (value !== undefined) {
      if (counted.has(callKey)) return createBreach(seq, `entry ${seq} counts ${callKey} again`, rows);
      counted.add(callKey);
      if (value !== counted.size)
        return createBreach(seq, `entry ${seq} counts up to ${value}, not ${counted.size}`, rows);
    }
    if (event.type !== "tool_finished") continue;
    if (event.outcome !== "ok" && patch !== undefined)
      return createBreach(seq, `entry ${seq} is no success, and has data`, rows);
    if (event.outcome === "ok" && event.attempt !== undefined && counts.has(callKey) && !counted.has(callKey))
      return createBreach(seq, `entry ${seq} ends ${callKey}, which was not counted`, rows);
  }
  return undefined;
}

export function isCounted({ input }: { readonly input: unknown }): boolean {
  return typeof input === "number" && input % 2 === 0;
}

function patchIn(event: Event): DataPatch | undefined {
  return "data" in event ? event.data : undefined;
}
