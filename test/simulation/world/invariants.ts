/**
 * What must hold after every simulation and every play of a reference scenario.
 */
import { isDeepStrictEqual } from "node:util";
import type { Breach, History, Invariant } from "../../../src/testing/world/history.js";
import { effectInvariants } from "../../../src/testing/world/invariants-effects.js";
import { logInvariants } from "../../../src/testing/world/invariants-log.js";
import { stepInvariants } from "../../../src/testing/world/invariants-steps.js";
import { attemptOf, shapeOf } from "../../../src/testing/world/message-parts.js";
import type { SimulationHistory } from "./history.js";
import { agentInvariants } from "./invariants-agents.js";
import { dataInvariants } from "./invariants-data.js";
import { peopleInvariants } from "./invariants-people.js";
import { toolInvariants } from "./invariants-tools.js";
import { watchInvariants } from "./invariants-watches.js";

export const simulationInvariants: readonly Invariant<SimulationHistory>[] = [
  ...logInvariants,
  { number: 10, name: "what is committed is what the model meant to say", check: messagesAreMeant },
  { number: 14, name: "what a model is sent is what the log says", check: requestsAreInLog },
  ...effectInvariants,
  ...stepInvariants,
  ...toolInvariants,
  ...dataInvariants,
  ...agentInvariants,
  ...peopleInvariants,
  ...watchInvariants,
];

function requestsAreInLog({ facts, requests }: SimulationHistory): Breach | undefined {
  const made = new Map(requests.map((request) => [attemptOf(request), request]));
  for (const fact of facts)
    if (fact.type === "model_called" && !isDeepStrictEqual(fact.request, made.get(attemptOf(fact.request))))
      return { what: `${attemptOf(fact.request)} is sent another request than the log gives`, fact };
  return undefined;
}

function messagesAreMeant({ facts, log }: History): string | undefined {
  const meant = new Map(facts.flatMap((fact) => (fact.type === "model_meant" ? [[fact.attempt, fact.parts]] : [])));
  for (const { seq, event } of log) {
    if (event.type !== "model_finished") continue;
    const said = event.message.parts.map(shapeOf);
    if (!isDeepStrictEqual(said, meant.get(attemptOf(event))))
      return `entry ${seq} is ${JSON.stringify(said)}, meant was ${JSON.stringify(meant.get(attemptOf(event)))}`;
  }
  return undefined;
}
