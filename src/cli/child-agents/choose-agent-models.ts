/**
 * Chooses the models that agent files name.
 */
import { type Model, type ModelTimeouts, PawlError } from "../../index.js";
import { chooseConfiguredModel, type ModelOptions } from "../agent/choose-model.js";
import type { ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { toOneLine } from "../terminal/text.js";
import type { AgentFile } from "./agent-file.js";
import { resolveAgents } from "./resolve-agents.js";

type AgentModel = { readonly model: Model; readonly timeouts: ModelTimeouts };

/** An agent file with its model; null for the parent's. */
export type AgentWithModel = { readonly file: AgentFile; readonly model: AgentModel | null };

export type ChosenAgents = {
  readonly agents: readonly AgentWithModel[];
  /** In whole sentences, for the person. */
  readonly problems: readonly string[];
};

/** Other programs name the models of one provider by these words. */
const modelsElsewhere: ReadonlySet<string> = new Set(["sonnet", "opus", "haiku"]);

/** A model that cannot be used does not keep the session from starting: the agent's calls fail, and say why. */
export async function chooseAgentModels(
  configured: Pick<ResolvedConfiguration, "trust" | "models">,
  options: ModelOptions,
): Promise<ChosenAgents> {
  const { list, problems } = resolveAgents(configured.trust);
  const chosen = new Map<string, Promise<AgentModel>>();
  const choose = (name: string) => {
    const choosing = chosen.get(name) ?? chooseConfiguredModel(name, options, configured);
    chosen.set(name, choosing);
    return choosing;
  };
  const notes: string[] = [];
  const chooseFor = async (file: AgentFile): Promise<AgentWithModel> => {
    const { name, model: modelName } = file;
    if (modelName === null) return { file, model: null };
    if (modelsElsewhere.has(modelName) && !Object.hasOwn(configured.models, modelName)) {
      notes.push(
        `The agent ${name} asks for the model ${modelName}, and the setting models has no such name: it uses the session's model.`,
      );
      return { file, model: null };
    }
    try {
      return { file, model: await choose(modelName) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      notes.push(toOneLine(`The agent ${name} cannot be used: ${why}`));
      return { file, model: { model: createUnusableModel(modelName, why), timeouts: {} } };
    }
  };
  // One after the other, so that the messages are in the order of the list.
  const agents: AgentWithModel[] = [];
  for (const file of list) agents.push(await chooseFor(file));
  return { agents, problems: [...problems, ...notes] };
}

/** The files as they are, for commands that call no model of theirs. */
export function withoutModels(files: readonly AgentFile[]): readonly AgentWithModel[] {
  return files.map((file) => ({ file, model: null }));
}

/** It has a price, so that a limit in dollars does not refuse the whole session because of it. */
function createUnusableModel(id: string, why: string): Model {
  return {
    id,
    price: { input: 0, output: 0 },
    // biome-ignore lint/correctness/useYield: it only throws.
    async *stream() {
      throw new PawlError("bad_configuration", `The model ${id} cannot be used: ${why}`);
    },
  };
}
