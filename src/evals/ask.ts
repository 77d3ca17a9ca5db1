/**
 * Asks an agent that is not under test: a judge, or an agent that simulates a tool's results. Its answers are kept and count toward
 * the budget, like those of the trial.
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
import type { AskModel } from "./trial.js";

/** @param signal aborts the run of the asked agent */
export function createAsk(keep: ReturnType<typeof createAnswerKeeper>, signal: AbortSignal): AskModel {
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

/** An agent that judges reads untrusted text, so it must not write. */
export const runReadOnlyTool: RunTool = ({ tool }, own) => {
  if (tool.readOnly === true) return own();
  throw new FinalToolError(`The tool "${tool.name}" is not readOnly. Agents that judge can only run readOnly tools.`);
};

/**
 * Returns the text of an answer, or its data if the request had a schema.
 *
 * @throws NoVerdictError if the agent gave no answer
 */
export function readAnswer(result: RunResult, schema: Parameters<AskModel>[2]): Json {
  if (result.status !== "completed")
    throw new NoVerdictError(`the agent that was asked gave no answer (${formatMissing(result)})`);
  if (schema === undefined) return result.text;
  if (result.output === undefined) throw new NoVerdictError("the agent that was asked gave no data");
  return result.output;
}

/** Why a run has no answer: what went wrong, or what the run waits for. */
function formatMissing(result: Exclude<RunResult, { readonly status: "completed" }>): string {
  if (result.status === "awaiting_human" || result.status === "waiting") return result.status;
  const { reason } = result;
  const what = result.status === "interrupted" ? "The run was interrupted." : reasons[result.reason].text;
  const error = result.status === "aborted" ? undefined : result.error?.message;
  return `${reason}: ${error ?? what}`;
}
