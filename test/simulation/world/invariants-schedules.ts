/**
 * Invariants of schedules, of messages that were sent for later, and of their runs.
 */
import type { ScheduleBody } from "../../../src/engine/schedules/schedule.js";
import type { PutRow, SlotFiring } from "../../../src/ports/schedule-store.js";
import type { Fact } from "../../../src/testing/world/facts.js";
import type { Breach, Invariant } from "../../../src/testing/world/history.js";
import type { SimulationHistory } from "./history.js";

export const scheduleInvariants: readonly Invariant<SimulationHistory>[] = [
  { number: 20, name: "each slot is one run, or is counted as left out", check: slotsAreCounted },
  { number: 20, name: "each run that was posted for a slot begins once", check: postedRunsBeginOnce },
  { number: 20, name: "what was withdrawn is not said", check: withdrawnIsUnsaid },
];

/** A row as the store has it, and the last slot that was fired or counted. */
type Row = Pick<PutRow, "rev" | "slot" | "dueAt"> & {
  readonly body: ScheduleBody;
  /** Of a delayed message. */
  readonly isDelayed: boolean;
  readonly lastSlot: number;
};

function slotsAreCounted({ facts }: SimulationHistory): Breach | undefined {
  const rows = new Map<string, Row>();
  for (const fact of facts) {
    const problem = followRow(rows, fact);
    if (problem !== undefined) return { what: problem, fact };
  }
  return undefined;
}

function followRow(rows: Map<string, Row>, fact: Fact): string | undefined {
  switch (fact.type) {
    case "schedule_removed":
      rows.delete(fact.id);
      return undefined;
    case "schedule_put": {
      const { row } = fact;
      const before = rows.get(row.id);
      const after: Row = {
        ...row,
        body: row.body as unknown as ScheduleBody,
        isDelayed: row.sessionId !== undefined,
        lastSlot: before?.lastSlot ?? Number.NEGATIVE_INFINITY,
      };
      rows.set(row.id, after);
      return before === undefined ? undefined : findWrongPut(row.id, before, after);
    }
    case "schedule_fired": {
      const { fire } = fact;
      const before = rows.get(fire.id);
      if (before === undefined) return `${fire.id} is fired, and is not there`;
      if (fire.remove === true) rows.delete(fire.id);
      else
        rows.set(fire.id, {
          ...before,
          slot: fire.next?.slot ?? null,
          dueAt: fire.next?.dueAt ?? null,
          lastSlot: fire.outcomes.at(-1)?.slot ?? before.lastSlot,
        });
      return before.isDelayed ? findWrongPost(before, fire) : findWrongFire(before, fire);
    }
    default:
      return undefined;
  }
}

/** A change repeats no slot, and loses none of those that stay. */
function findWrongPut(id: string, before: Row, after: Row): string | undefined {
  if (after.slot === null) return undefined;
  if (after.slot <= before.lastSlot) return `${id} goes back to ${after.slot}, and ${before.lastSlot} was fired`;
  const isSameGrid = JSON.stringify(before.body.when) === JSON.stringify(after.body.when);
  const isLost = isSameGrid && before.slot !== null && after.slot > before.slot;
  return isLost ? `${id} goes on with ${after.slot}, and ${before.slot} was not fired` : undefined;
}

function findWrongPost({ slot, rev }: Row, { id, posts, slot: seen, rev: seenRev }: SlotFiring): string | undefined {
  if (slot !== seen || rev !== seenRev) return `${id} is fired, and was changed`;
  const [post] = posts;
  if (posts.length !== 1 || post === undefined) return `${id} is fired with ${posts.length} messages`;
  return post.message.at < (slot ?? 0) ? `${id} is posted before its time` : undefined;
}

function findWrongFire({ body, slot, rev }: Row, fire: SlotFiring): string | undefined {
  const { id, next, outcomes, posts } = fire;
  if (fire.slot !== slot || fire.rev !== rev) return `${id} is fired at ${fire.slot}, and its next slot is ${slot}`;
  if (slot === null) return `${id} is fired, and is paused or over`;
  const end = next?.slot ?? Number.POSITIVE_INFINITY;
  const { when, endAt = Number.POSITIVE_INFINITY, jitterMs } = body;
  if (!("everyMs" in when)) return `${id} has no interval`;
  const last = Math.min(end - when.everyMs, when.from + Math.floor((endAt - when.from) / when.everyMs) * when.everyMs);
  const expected = Math.round((last - slot) / when.everyMs) + 1;
  const counted = outcomes.reduce((sum, { count = 1 }) => sum + count, 0);
  if (counted !== expected) return `${id} counts ${counted} of the ${expected} slots from ${slot} to ${last}`;
  if (next !== null && (next.dueAt < next.slot || next.dueAt > next.slot + jitterMs))
    return `${id} is due at ${next.dueAt} for ${next.slot}`;
  const posted = outcomes.filter(({ outcome }) => outcome === "posted");
  if (posts.length !== posted.length) return `${id} posts ${posts.length} messages for ${posted.length} slots`;
  if (posts.length > (body.missed === "all" ? 100 : 1)) return `${id} posts ${posts.length} runs at once`;
  for (const [index, outcome] of posted.entries()) {
    const name = `run/${id}@${new Date(outcome.slot).toISOString()}`;
    const isInRange = outcome.slot >= slot && outcome.slot <= last && (outcome.slot - slot) % when.everyMs === 0;
    if (!isInRange || posts[index]?.message.id !== name)
      return `${id} posts a run for ${outcome.slot}, from ${slot} to ${last}`;
    if (outcome.at < outcome.slot) return `${id} runs ${outcome.slot - outcome.at} ms before its slot`;
    if (body.missed !== "all" && outcome.slot !== last) return `${id} runs ${outcome.slot}, and ${last} is the newest`;
  }
  return undefined;
}

/** In the session to which it was posted, its message is consumed once, and its run begins once at most. */
function postedRunsBeginOnce({ facts, family }: SimulationHistory): Breach | undefined {
  const consumed = new Map<string, number>();
  const begun = new Map<string, number>();
  const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const { sessionId, commit } of family) {
    for (const id of commit.consume ?? []) count(consumed, `${sessionId} ${id}`);
    for (const event of commit.events)
      if (event.type === "run_started") count(begun, `${sessionId} run/${event.runId}`);
  }
  const posted = new Set<string>();
  for (const fact of facts) {
    if (fact.type !== "schedule_fired") continue;
    for (const { sessionId, message } of fact.fire.posts) {
      const name = `${sessionId} ${message.id}`;
      posted.add(name);
      const times = consumed.get(name) ?? 0;
      if (times !== 1) return { what: `${name} was posted, and is consumed ${times} times`, fact };
      if ((begun.get(name) ?? 0) > 1) return { what: `${name} begins ${begun.get(name)} times`, fact };
    }
  }
  const unposted = [...begun.keys()].find((name) => name.includes("@") && !posted.has(name));
  return unposted === undefined ? undefined : `${unposted} begins, and was never posted`;
}

/** Unless somebody sent it again. */
function withdrawnIsUnsaid({ log, clients }: SimulationHistory): string | undefined {
  const texts = new Set<string>();
  for (const { event } of log)
    if ("input" in event && Array.isArray(event.input))
      for (const { parts } of event.input) for (const part of parts) if (part.type === "text") texts.add(part.text);
  for (const { runId, answer, what } of clients.questions) {
    if (!what.startsWith("unsend") || answer?.type !== "done" || answer.said !== "unsent") continue;
    const sendings = clients.questions.filter((one) => one.runId === runId && one.isLater === true);
    const [only] = sendings;
    if (sendings.length === 1 && only?.input !== undefined && texts.has(only.input))
      return `'${only.input}' was withdrawn, and is in the log`;
  }
  return undefined;
}
