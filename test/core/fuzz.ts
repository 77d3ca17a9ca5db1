/**
 * Random sessions, watched: each event is checked by the oracle.
 */
import { type Event, initialState, type Status } from "../../src/core/index.js";
import { createChance } from "./chance.js";
import { createOracle } from "./oracle.js";
import { createEventSource } from "./random-events.js";
import { appendEvent, createSession } from "./session.js";
import { deepFreeze } from "./transcript-oracle.js";

export type Coverage = {
  /** Events that were offered, and those that applied. */
  offered: number;
  applied: number;
  sessions: number;
  /** How often an event applied in a state: `status event`. */
  readonly pairs: Map<string, number>;
  /** How often one status led to another: `status > status`. */
  readonly edges: Map<string, number>;
};

/** Walks sessions from consecutive seeds until so many events were offered. A failure names the seed of its session. */
export function fuzz(seed: number, events: number): Coverage {
  const coverage: Coverage = { offered: 0, applied: 0, sessions: 0, pairs: new Map(), edges: new Map() };
  for (let session = seed; coverage.offered < events; session += 1) {
    coverage.sessions += 1;
    walkSession(session, events, coverage);
  }
  return coverage;
}

function walkSession(seed: number, limit: number, coverage: Coverage): void {
  const chance = createChance(seed);
  const source = createEventSource(chance);
  const session = createSession();
  const oracle = createOracle(session);
  const length = 20 + chance.below(180);
  const anyEventOdds = chance.pick([2, 5, 20, 1_000_000]);
  deepFreeze(initialState);
  for (let count = 0; count < length && coverage.offered < limit; count += 1) {
    const before = session.state;
    session.at += chance.oneIn(20) ? -chance.below(500) : chance.below(200);
    const body = chance.oneIn(anyEventOdds) ? source.any(session) : source.plausible(session);
    const event: Event = { ...body, at: session.at };
    deepFreeze(event);
    coverage.offered += 1;
    try {
      const events = appendEvent(session, event);
      deepFreeze(session.state);
      oracle.observe(before, event, session.state, events);
    } catch (error) {
      throw new Error(formatFailure(seed, count, event, before.status, error), { cause: error });
    }
    if (session.state !== before) countTransition(coverage, before.status, session.state.status, event);
  }
  oracle.conclude();
}

function countTransition({ pairs, edges }: Coverage, from: Status, to: Status, event: Event): void {
  const pair = `${from} ${event.type}`;
  pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  const edge = `${from} > ${to}`;
  edges.set(edge, (edges.get(edge) ?? 0) + 1);
}

function formatFailure(seed: number, count: number, event: Event, status: Status, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return [
    `Event ${count + 1} of the session with seed ${seed}, '${event.type}' in '${status}': ${reason}`,
    `  ${JSON.stringify(event)}`,
    `Again: PAWL_SEED=${seed} PAWL_EVENTS=${count + 1} npm run fuzz`,
  ].join("\n");
}
