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
import { deriveChildId } from "../../../src/runtime/effects/children.js";
import type { Invariant } from "../../../src/testing/world/history.js";
import type { SimulationHistory } from "./history.js";
import type { LoggedItem, Telling } from "./watches.js";

export const watchInvariants: readonly Invariant<SimulationHistory>[] = [
  { number: 1, name: "whoever watches a family is told each event once, in its place", check: checkFamilyStreams },
  { number: 7, name: "a watch ends only where its process does", check: checkWatchesContinue },
];

type EventsBySession = SimulationHistory["eventsBySession"];

function checkFamilyStreams({ tellings, eventsBySession }: SimulationHistory): string | undefined {
  for (const telling of tellings) {
    const problem = findProblem(telling, eventsBySession);
    if (problem !== undefined) return `${telling.by}: ${problem}`;
  }
  return undefined;
}

function findProblem({ seen, isWhole }: Telling, eventsOf: EventsBySession): string | undefined {
  const counts = new Map<string, number>();
  const startedCalls = new Set<string>();
  const endedCalls = new Set<string>();
  for (const item of seen) {
    const { sessionId, parent } = item;
    const count = counts.get(sessionId) ?? 0;
    const next = selectChildEvents(item, eventsOf)[count];
    if (next === undefined || formatPosition(next) !== formatPosition(item))
      return `'${formatPosition(item)}' of ${sessionId} in the place of '${next === undefined ? "nothing" : formatPosition(next)}'`;
    counts.set(sessionId, count + 1);
    if (parent !== undefined) {
      const call = `${parent.sessionId} ${parent.callKey}`;
      if (endedCalls.has(call)) return `'${formatPosition(item)}' of ${sessionId} after the result of its call`;
      const hasStart = (eventsOf.get(parent.sessionId) ?? []).some((event) => startsCall(event, parent.callKey));
      if (hasStart && !startedCalls.has(call))
        return `'${formatPosition(item)}' of ${sessionId} before the start of its call`;
    }
    if (item.type === "child_started") startedCalls.add(`${sessionId} ${item.callKey}`);
    if (item.type !== "tool_result") continue;
    endedCalls.add(`${sessionId} ${item.callKey}`);
    const missing = findMissingEvent(item, counts, eventsOf);
    if (missing !== undefined)
      return `'${formatPosition(item)}' of ${sessionId} before '${formatPosition(missing)}' of its child`;
  }
  const [first] = seen;
  const all = first === undefined ? 0 : (eventsOf.get(first.sessionId)?.length ?? 0);
  if (isWhole && first !== undefined && (counts.get(first.sessionId) ?? 0) < all)
    return `${counts.get(first.sessionId)} of ${all} events of ${first.sessionId}`;
  return undefined;
}

/** What a stream tells of a session: a child's run ends its part, whatever is said to the child later. */
function selectChildEvents(
  { sessionId, parent }: Pick<LoggedItem, "sessionId" | "parent">,
  eventsOf: EventsBySession,
): readonly PublicEvent[] {
  const events = eventsOf.get(sessionId) ?? [];
  if (parent === undefined) return events;
  const runId = deriveChildId(sessionId, parent.callKey);
  const end = events.findIndex((event) => event.type === "final" && event.runId === runId);
  return end === -1 ? events : events.slice(0, end + 1);
}

/** What a call that ended with the result of its child's run should have come after. */
function findMissingEvent(
  { sessionId, callKey, outcome }: Extract<LoggedItem, { readonly type: "tool_result" }>,
  counts: ReadonlyMap<string, number>,
  eventsOf: EventsBySession,
): PublicEvent | undefined {
  if (outcome !== "ok" && outcome !== "error") return undefined;
  const child = deriveChildId(sessionId, callKey);
  const part = selectChildEvents({ sessionId: child, parent: { sessionId, callKey } }, eventsOf);
  return part.at(-1)?.type === "final" ? part[counts.get(child) ?? 0] : undefined;
}

function startsCall(event: PublicEvent, callKey: string): boolean {
  return event.type === "child_started" && event.callKey === callKey;
}

function formatPosition({ seq, index, type }: PublicEvent): string {
  return `${seq}.${index} ${type}`;
}

const expectedErrorCodes: ReadonlySet<string> = new Set(["shut_down", "store_failed", "no_session"]);

function checkWatchesContinue({ clients }: SimulationHistory): string | undefined {
  for (const { process, error } of clients.watches)
    if (error !== undefined && !(error instanceof PawlError && expectedErrorCodes.has(error.code)))
      return `a watch at ${process.name} ended: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  return undefined;
}
