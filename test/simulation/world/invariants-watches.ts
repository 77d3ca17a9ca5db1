/**
 * Invariants of streams with children, whoever leaves and goes on, and whoever dies.
 *
 * 1. The events of each session are those of its log, once and in order. A child's are those of the run of its call.
 * 2. They come after the start of the call, if that stands in the log, and before its result.
 * 3. A call that ends with a result of the child comes after everything that the child's run has to tell.
 * 4. Whoever watches to the end is told everything of the session at the top.
 */
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import { PawlError } from "../../../src/errors.js";
import { childIdOf } from "../../../src/runtime/effects/children.js";
import type { Invariant } from "../../../src/testing/world/history.js";
import type { SimulationHistory } from "./history.js";
import type { Telling, Told } from "./watches.js";

export const watchInvariants: readonly Invariant<SimulationHistory>[] = [
  { number: 1, name: "whoever watches a family is told each event once, in its place", check: familiesAreTold },
  { number: 7, name: "a watch ends only where its process does", check: watchesGoOn },
];

type EventsOf = SimulationHistory["eventsOf"];

function familiesAreTold({ tellings, eventsOf }: SimulationHistory): string | undefined {
  for (const telling of tellings) {
    const problem = problemIn(telling, eventsOf);
    if (problem !== undefined) return `${telling.by}: ${problem}`;
  }
  return undefined;
}

function problemIn({ seen, isWhole }: Telling, eventsOf: EventsOf): string | undefined {
  const counts = new Map<string, number>();
  const begun = new Set<string>();
  const over = new Set<string>();
  for (const item of seen) {
    const { sessionId, parent } = item;
    const count = counts.get(sessionId) ?? 0;
    const next = partOf(item, eventsOf)[count];
    if (next === undefined || placeOf(next) !== placeOf(item))
      return `'${placeOf(item)}' of ${sessionId} in the place of '${next === undefined ? "nothing" : placeOf(next)}'`;
    counts.set(sessionId, count + 1);
    if (parent !== undefined) {
      const call = `${parent.sessionId} ${parent.callKey}`;
      if (over.has(call)) return `'${placeOf(item)}' of ${sessionId} after the result of its call`;
      const hasStart = (eventsOf.get(parent.sessionId) ?? []).some((event) => startsCall(event, parent.callKey));
      if (hasStart && !begun.has(call)) return `'${placeOf(item)}' of ${sessionId} before the start of its call`;
    }
    if (item.type === "child_started") begun.add(`${sessionId} ${item.callKey}`);
    if (item.type !== "tool_result") continue;
    over.add(`${sessionId} ${item.callKey}`);
    const left = untoldBefore(item, counts, eventsOf);
    if (left !== undefined) return `'${placeOf(item)}' of ${sessionId} before '${placeOf(left)}' of its child`;
  }
  const [top] = seen;
  const all = top === undefined ? 0 : (eventsOf.get(top.sessionId)?.length ?? 0);
  if (isWhole && top !== undefined && (counts.get(top.sessionId) ?? 0) < all)
    return `${counts.get(top.sessionId)} of ${all} events of ${top.sessionId}`;
  return undefined;
}

/** What a stream tells of a session: a child's run ends its part, whatever is said to the child later. */
function partOf({ sessionId, parent }: Pick<Told, "sessionId" | "parent">, eventsOf: EventsOf): readonly PublicEvent[] {
  const events = eventsOf.get(sessionId) ?? [];
  if (parent === undefined) return events;
  const runId = childIdOf(sessionId, parent.callKey);
  const end = events.findIndex((event) => event.type === "final" && event.runId === runId);
  return end === -1 ? events : events.slice(0, end + 1);
}

/** What a call that ended with the result of its child's run should have come after. */
function untoldBefore(
  { sessionId, callKey, outcome }: Extract<Told, { readonly type: "tool_result" }>,
  counts: ReadonlyMap<string, number>,
  eventsOf: EventsOf,
): PublicEvent | undefined {
  if (outcome !== "ok" && outcome !== "error") return undefined;
  const child = childIdOf(sessionId, callKey);
  const part = partOf({ sessionId: child, parent: { sessionId, callKey } }, eventsOf);
  return part.at(-1)?.type === "final" ? part[counts.get(child) ?? 0] : undefined;
}

function startsCall(event: PublicEvent, callKey: string): boolean {
  return event.type === "child_started" && event.callKey === callKey;
}

function placeOf({ seq, index, type }: PublicEvent): string {
  return `${seq}.${index} ${type}`;
}

const ends: ReadonlySet<string> = new Set(["shut_down", "store_failed", "no_session"]);

function watchesGoOn({ clients }: SimulationHistory): string | undefined {
  for (const { process, error } of clients.watches)
    if (error !== undefined && !(error instanceof PawlError && ends.has(error.code)))
      return `a watch at ${process.name} ended: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  return undefined;
}
