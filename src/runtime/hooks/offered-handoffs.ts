/**
 * Selects the handoffs that a model is offered: those whose condition holds before this step.
 *
 * 1. The results of the conditions are in the log with the model call, as the tools that it may use. The conditions are
 *    called again only if nothing was committed.
 * 2. A condition that fails counts as false. It is recorded like a failed hook.
 */
import type { HookRecord } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import type { ConditionalHandoff } from "../agent/handoffs.js";
import { formatError } from "../lib/error-text.js";
import type { EffectContext } from "../work/effect-context.js";
import { createStepView } from "./stop-when.js";

type StepPreparing = Extract<Preparing, { for: "step" }>;

export type OfferedHandoffs = {
  /** The tools that the model may use; absent if all handoffs are offered. */
  readonly choices: { readonly activeTools?: readonly string[] };
  readonly records: readonly HookRecord[];
};

export function selectHandoffs(
  conditional: readonly ConditionalHandoff[],
  state: StepPreparing,
  context: EffectContext,
): OfferedHandoffs {
  const { agent, transcript } = context;
  const view = createStepView(state, context);
  const records: HookRecord[] = [];
  const hidden = new Set<string>();
  for (const { toolName, when } of conditional) if (!isOffered(when, toolName, view, records)) hidden.add(toolName);
  if (hidden.size === 0) return { choices: {}, records };
  const names = transcript.run?.options.activeTools ?? [...agent.tools.keys()];
  return { choices: { activeTools: names.filter((name) => !hidden.has(name)) }, records };
}

function isOffered(
  when: ConditionalHandoff["when"],
  toolName: string,
  view: ReturnType<typeof createStepView>,
  records: HookRecord[],
): boolean {
  const recordFailure = (outcome: "threw" | "refused", message: string): false => {
    records.push({ name: `when of ${toolName}`, hook: "beforeStep", ms: 0, outcome, message });
    return false;
  };
  try {
    const answer: unknown = when(view);
    if (typeof answer === "boolean") return answer;
    return recordFailure("refused", "It returned neither true nor false, and counts as false.");
  } catch (error) {
    return recordFailure("threw", formatError(error));
  }
}
