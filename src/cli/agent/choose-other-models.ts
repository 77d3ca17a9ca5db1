/**
 * The models that a command needs in addition to the session's own: those of agents in files, and the fallbacks.
 */

import type { Model } from "../../index.js";
import { type ChosenAgents, chooseAgentModels } from "../child-agents/choose-agent-models.js";
import { describeUnknownTools, type ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { type ChosenFallbacks, chooseFallbacks } from "./choose-fallbacks.js";
import type { ModelOptions } from "./choose-model.js";

/** @returns the problems of both in one list, in whole sentences, for the person */
export async function chooseOtherModels(
  configured: ResolvedConfiguration,
  options: ModelOptions,
  sessionModel: Model,
): Promise<ChosenAgents & ChosenFallbacks> {
  const [chosenAgents, { fallbacks, problems }] = await Promise.all([
    chooseAgentModels(configured, options, sessionModel),
    chooseFallbacks(configured, options),
  ]);
  return {
    agents: chosenAgents.agents,
    fallbacks,
    problems: [...describeUnknownTools(configured), ...chosenAgents.problems, ...problems],
  };
}

/** Prints why some models are not used, with secrets redacted. */
export function printModelProblems(
  problems: readonly string[],
  { err, style, redaction }: Pick<Terminal, "err" | "style" | "redaction">,
): void {
  for (const problem of problems) err(`${style("yellow", sanitize(redaction.text(problem)))}\n`);
}
