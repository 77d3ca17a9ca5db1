/**
 * How long a run's forced tool choice applies.
 *
 * 1. The log alone decides: a choice with `everyStep: true` applies to each model call of the run, any other choice only to the first.
 *    After that, the model may call tools and may also answer. A choice that stayed forced would keep the run from ending.
 * 2. A hook's choice applies to its own model call, and is not handled here.
 */
import type { RunToolChoice, ToolChoice } from "./event.js";

/** The shortest equivalent form of a run's choice. The log stores this form. */
export function normalizeToolChoice(choice: RunToolChoice): RunToolChoice {
  if (typeof choice === "string") return choice;
  const everyStep = appliesToEveryStep(choice) ? { everyStep: true } : {};
  if ("tool" in choice) return { tool: choice.tool, ...everyStep };
  return appliesToEveryStep(choice) ? { required: true, ...everyStep } : "required";
}

/** The choice for one model call of the run; undefined if the run makes none. */
export function resolveToolChoice(choice: RunToolChoice | undefined, modelCallIndex: number): ToolChoice | undefined {
  if (choice === undefined || choice === "auto" || choice === "none") return choice;
  if (modelCallIndex !== 1 && !appliesToEveryStep(choice)) return "auto";
  return typeof choice === "object" && "tool" in choice ? { tool: choice.tool } : "required";
}

function appliesToEveryStep(choice: RunToolChoice): boolean {
  return typeof choice === "object" && "everyStep" in choice && choice.everyStep === true;
}
