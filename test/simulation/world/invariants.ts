/**
 * What must hold after every simulation and every play of a reference scenario.
 */
import { isDeepStrictEqual } from "node:util";
import type { Breach, History, Invariant } from "../../../src/testing/world/history.js";
import { effectInvariants } from "../../../src/testing/world/invariants-effects.js";
import { logInvariants } from "../../../src/testing/world/invariants-log.js";
import { stepInvariants } from "../../../src/testing/world/invariants-steps.js";
import { formatAttempt, formatPart } from "../../../src/testing/world/message-parts.js";
import type { SimulationHistory } from "./history.js";
import { agentInvariants } from "./invariants-agents.js";
import { dataInvariants } from "./invariants-data.js";
import { peopleInvariants } from "./invariants-people.js";
import { scheduleInvariants } from "./invariants-schedules.js";
import { timeInvariants } from "./invariants-time.js";
import { toolInvariants } from "./invariants-tools.js";
import { watchInvariants } from "./invariants-watches.js";

export const simulationInvariants: readonly Invariant<SimulationHistory>[] = [
  ...logInvariants,
  { number: 10, name: "what is committed is what the model meant to say", check: checkMessagesMeant },
  { number: 14, name: "what a model is sent is what the log says", check: checkRequestsInLog },
  ...effectInvariants,
  ...stepInvariants,
  ...toolInvariants,
  ...dataInvariants,
  ...agentInvariants,
  ...peopleInvariants,
  ...watchInvariants,
  ...timeInvariants,
  ...scheduleInvariants,
];

function checkRequestsInLog({ facts, requests }: SimulationHistory): Breach | undefined {
  const loggedRequests = new Map(requests.map((request) => [formatAttempt(request), request]));
  for (const fact of facts)
    if (
      fact.type === "model_called" &&
      !isDeepStrictEqual(fact.request, loggedRequests.get(formatAttempt(fact.request)))
    )
      return { what: `${formatAttempt(fact.request)} is sent another request than the log gives`, fact };
  return undefined;
}

function checkMessagesMeant({ facts, log }: History): string | undefined {
  const intendedParts = new Map(
    facts.flatMap((fact) => (fact.type === "model_meant" ? [[fact.attempt, fact.parts]] : [])),
  );
  for (const { seq, event } of log) {
    if (event.type !== "model_finished") continue;
    const committedParts = event.message.parts.map(formatPart);
    if (!isDeepStrictEqual(committedParts, intendedParts.get(formatAttempt(event))))
      return `entry ${seq} is ${JSON.stringify(committedParts)}, meant was ${JSON.stringify(intendedParts.get(formatAttempt(event)))}`;
  }
  return undefined;
}
