/**
 * Asks an agent that is not under test: one that judges, or that makes up the results of a tool. Its answers are kept and
 * count to the budget, as those of the trial do.
 */
import { defined } from "../core/data/defined.js";
import type { Json } from "../core/data/message.js";
import { rehearse } from "../runtime/api/build-agent.js";
import { FinalToolError } from "../runtime/tools/final-error.js";
import { createMemoryStore } from "../stores/memory/index.js";
import type { createAnswerKeeper } from "./kept-answers.js";
import type { Ask } from "./trial.js";

export function createAsk(keep: ReturnType<typeof createAnswerKeeper>): Ask {
  return async (agent, input, schema) => {
    const asked = rehearse(agent, {
      store: createMemoryStore(),
      runModel: ({ model, request }, own) => keep(model, request, own),
      runTool: ({ tool }, own) => {
        if (tool.readOnly === true) return own();
        throw new FinalToolError(`An agent that judges runs only tools that are readOnly, and "${tool.name}" is not.`);
      },
      toolsFor: () => [],
    });
    try {
      const result = await asked.run(input, { interactive: false, ...defined({ output: schema }) });
      if (result.status !== "completed") return null;
      return schema === undefined ? result.text : ((result as { readonly output?: Json }).output ?? null);
    } finally {
      await asked.shutdown({ graceMs: 100 });
    }
  };
}
