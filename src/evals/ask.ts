/**
 * Asks an agent that is not under test: one that judges, or that simulates the results of a tool. Its answers are kept and
 * count toward the budget, like those of the trial.
 */
import { defined } from "../core/data/defined.js";
import type { Json } from "../core/data/message.js";
import { reasons } from "../core/data/reasons.js";
import type { RunResult } from "../core/view/outcome.js";
import type { RunTool } from "../ports/tool.js";
import { rehearse } from "../runtime/api/build-agent.js";
import { FinalToolError } from "../runtime/tools/final-error.js";
import { createMemoryStore } from "../stores/memory/index.js";
import type { createAnswerKeeper } from "./kept-answers.js";
import { NoVerdictError } from "./no-verdict.js";
import type { Ask } from "./trial.js";

/** @param signal aborts the run of the asked agent */
export function createAsk(keep: ReturnType<typeof createAnswerKeeper>, signal: AbortSignal): Ask {
  return async (agent, input, schema) => {
    const asked = rehearse(agent, {
      store: createMemoryStore(),
      runModel: ({ model, request }, own) => keep(model, request, own),
      runTool: runReadOnlyTool,
      toolsFor: () => [],
    });
    try {
      return readAnswer(await asked.run(input, { interactive: false, signal, ...defined({ output: schema }) }), schema);
    } finally {
      await asked.shutdown({ graceMs: 100 });
    }
  };
}

/** An agent that judges reads text of strangers, so it cannot write. */
export const runReadOnlyTool: RunTool = ({ tool }, own) => {
  if (tool.readOnly === true) return own();
  throw new FinalToolError(`Agents that judge can only run readOnly tools, and "${tool.name}" is not readOnly.`);
};

/**
 * The text of an answer, or its data if it was asked for with a schema.
 *
 * @throws NoVerdictError if there is none
 */
export function readAnswer(result: RunResult, schema: Parameters<Ask>[2]): Json {
  if (result.status !== "completed")
    throw new NoVerdictError(`the agent that was asked gave no answer (${formatMissing(result)})`);
  if (schema === undefined) return result.text;
  if (result.output === undefined) throw new NoVerdictError("the agent that was asked gave no data");
  return result.output;
}

/** Why a run has no answer: what went wrong, or what it stopped for. */
function formatMissing(result: Exclude<RunResult, { readonly status: "completed" }>): string {
  if (result.status === "awaiting_human" || result.status === "waiting") return result.status;
  const { reason } = result;
  const what = result.status === "interrupted" ? "The run was interrupted." : reasons[result.reason].text;
  const error = result.status === "aborted" ? undefined : result.error?.message;
  return `${reason}: ${error ?? what}`;
}
