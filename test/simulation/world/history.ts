/**
 * The history of a simulation: what happened, the log, what a reader of the log sees, and what people were told.
 */

import type { PublicEvent } from "../../../src/core/view/public-event.js";
import type { ModelRequest } from "../../../src/ports/model.js";
import { modelRequests } from "../../../src/runtime/api/model-requests.js";
import { readEvents } from "../../../src/runtime/log/read-log.js";
import { startCursor } from "../../../src/stream/cursor.js";
import type { FactOf } from "../../../src/testing/world/facts.js";
import { type History, readHistory } from "../../../src/testing/world/history.js";
import type { World } from "../../../src/testing/world/world.js";
import type { Clients } from "./clients.js";
import type { Telling } from "./watches.js";

export type SimulationHistory = History & {
  /** What a reader of the whole log sees. */
  readonly events: readonly PublicEvent[];
  /** Those who ask, and who read along; nobody but in the session that all is about. */
  readonly clients: Pick<Clients, "questions" | "readers" | "watches">;
  /** What those who watch were told. */
  readonly tellings: readonly Telling[];
  /** What a reader of its log sees of each session. */
  readonly eventsBySession: ReadonlyMap<string, readonly PublicEvent[]>;
  /** The commits of all sessions, this one's and those of the agents below it. */
  readonly family: readonly FactOf<"written">[];
  /** The requests of the session's model calls, made again from its log. */
  readonly requests: readonly ModelRequest[];
  /** Nothing went wrong except in models and tools. */
  readonly isCalm: boolean;
  /** Every process has a guard that looks at each answer. */
  readonly hasGuard: boolean;
};

/** People, what those of them who watch were told, and what is known of the world. */
export type Witnesses = Pick<SimulationHistory, "clients" | "tellings" | "isCalm" | "hasGuard">;

const noWitnesses: Pick<Witnesses, "clients" | "tellings"> = {
  clients: { questions: [], readers: [], watches: [] },
  tellings: [],
};

/** One for each session; that of the session that all is about comes first. */
export async function loadSimulationHistories(
  world: World,
  witnesses: Witnesses,
): Promise<readonly SimulationHistory[]> {
  const family = world.facts.filter((fact) => fact.type === "written");
  const sessions = [...new Set([world.sessionId, ...family.map(({ sessionId }) => sessionId)])];
  const eventLists = await Promise.all(sessions.map((sessionId) => readAllEvents(world, sessionId)));
  const eventsBySession = new Map(sessions.map((sessionId, index) => [sessionId, eventLists[index] ?? []]));
  return await Promise.all(
    sessions.map(async (sessionId) => {
      const ownWitnesses = sessionId === world.sessionId ? witnesses : { ...witnesses, ...noWitnesses };
      const [history, requests] = [await readHistory(world, sessionId), await loadRequests(world, sessionId)];
      return {
        ...history,
        ...ownWitnesses,
        events: eventsBySession.get(sessionId) ?? [],
        requests,
        eventsBySession,
        family,
      };
    }),
  );
}

async function loadRequests({ store }: World, sessionId: string): Promise<readonly ModelRequest[]> {
  const requests: ModelRequest[] = [];
  if ((await store.load(sessionId)) === null) return requests;
  for await (const request of modelRequests(store, sessionId)) requests.push(request);
  return requests;
}

/** The questions of children are in their logs: so the events are those of a reader who begins with the first entry. */
async function readAllEvents({ store }: World, sessionId: string): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const event of readEvents(store, sessionId, startCursor)) events.push(event);
  return events;
}
