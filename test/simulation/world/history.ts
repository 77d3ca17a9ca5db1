/**
 * The history of a simulation: what happened, the log, what a reader of the log sees, and what people were told.
 */

import type { PublicEvent } from "../../../src/core/view/public-event.js";
import type { ModelRequest } from "../../../src/ports/model.js";
import { modelRequests } from "../../../src/runtime/api/model-requests.js";
import { readEvents } from "../../../src/runtime/log/read-log.js";
import { beginning } from "../../../src/stream/cursor.js";
import type { FactOf } from "../../../src/testing/world/facts.js";
import { type History, historyOf } from "../../../src/testing/world/history.js";
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
  readonly eventsOf: ReadonlyMap<string, readonly PublicEvent[]>;
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

const nobody: Pick<Witnesses, "clients" | "tellings"> = {
  clients: { questions: [], readers: [], watches: [] },
  tellings: [],
};

/** One for each session; that of the session that all is about comes first. */
export async function simulationHistoriesOf(world: World, witnesses: Witnesses): Promise<readonly SimulationHistory[]> {
  const family = world.facts.filter((fact) => fact.type === "written");
  const sessions = [...new Set([world.sessionId, ...family.map(({ sessionId }) => sessionId)])];
  const all = await Promise.all(sessions.map((sessionId) => readAll(world, sessionId)));
  const eventsOf = new Map(sessions.map((sessionId, index) => [sessionId, all[index] ?? []]));
  return await Promise.all(
    sessions.map(async (sessionId) => {
      const own = sessionId === world.sessionId ? witnesses : { ...witnesses, ...nobody };
      const [history, requests] = [await historyOf(world, sessionId), await requestsOf(world, sessionId)];
      return { ...history, ...own, events: eventsOf.get(sessionId) ?? [], requests, eventsOf, family };
    }),
  );
}

async function requestsOf({ store }: World, sessionId: string): Promise<readonly ModelRequest[]> {
  const requests: ModelRequest[] = [];
  if ((await store.load(sessionId)) === null) return requests;
  for await (const request of modelRequests(store, sessionId)) requests.push(request);
  return requests;
}

/** The questions of children are in their logs: so the events are those of a reader who begins with the first entry. */
async function readAll({ store }: World, sessionId: string): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const event of readEvents(store, sessionId, beginning)) events.push(event);
  return events;
}
