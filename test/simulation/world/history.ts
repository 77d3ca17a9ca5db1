/**
 * The history of a simulation: what happened, the log, what a reader of the log sees, and what people were told.
 */
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import type { ModelRequest } from "../../../src/ports/model.js";
import { modelRequests } from "../../../src/runtime/api/model-requests.js";
import { parseCursor } from "../../../src/runtime/log/cursor.js";
import { readEvents } from "../../../src/runtime/log/read-log.js";
import type { FactOf } from "../../../src/testing/world/facts.js";
import { type History, historyOf } from "../../../src/testing/world/history.js";
import type { World } from "../../../src/testing/world/world.js";
import type { Clients } from "./clients.js";

export type SimulationHistory = History & {
  /** What a reader of the whole log sees. */
  readonly events: readonly PublicEvent[];
  /** Those who ask, and who read along; nobody but in the session that all is about. */
  readonly clients: Pick<Clients, "questions" | "readers">;
  /** The commits of all sessions, this one's and those of the agents below it. */
  readonly family: readonly FactOf<"written">[];
  /** The requests of the session's model calls, made again from its log. */
  readonly requests: readonly ModelRequest[];
  /** Nothing went wrong except in models and tools. */
  readonly isCalm: boolean;
  /** Every process has a guard that looks at each answer. */
  readonly hasGuard: boolean;
};

const nobody: SimulationHistory["clients"] = { questions: [], readers: [] };

/** One for each session; that of the session that all is about comes first. */
export async function simulationHistoriesOf(
  world: World,
  clients: SimulationHistory["clients"],
  { isCalm, hasGuard }: Pick<SimulationHistory, "isCalm" | "hasGuard">,
): Promise<readonly SimulationHistory[]> {
  const family = world.facts.filter((fact) => fact.type === "written");
  const sessions = new Set([world.sessionId, ...family.map(({ sessionId }) => sessionId)]);
  return await Promise.all(
    [...sessions].map(async (sessionId) => {
      const history = await historyOf(world, sessionId);
      const own = sessionId === world.sessionId ? clients : nobody;
      const [events, requests] = [await eventsOf(world, sessionId), await requestsOf(world, sessionId)];
      return { ...history, events, requests, clients: own, family, isCalm, hasGuard };
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
async function eventsOf({ store }: World, sessionId: string): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const event of readEvents(store, sessionId, parseCursor(0))) events.push(event);
  return events;
}
