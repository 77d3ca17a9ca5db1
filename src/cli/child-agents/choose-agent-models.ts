/**
 * Chooses the models that agent files name.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { type Model, type ModelTimeouts, PawlError } from "../../index.js";
import { chooseConfiguredModel, hasPrice, type ModelOptions } from "../agent/choose-model.js";
import type { ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { toOneLine } from "../terminal/text.js";
import { type AgentFile, modelsElsewhere } from "./agent-file.js";
import { describeMisspelledAgents, resolveAgents } from "./resolve-agents.js";

type AgentModel = {
  readonly model: Model;
  readonly timeouts: ModelTimeouts;
  /** The agent's calls fail, even if there are fallbacks: the file may have chosen the model for its price or for where it runs. */
  readonly isUnusable?: true;
};

/** An agent file with its model; null for the parent's. */
export type AgentWithModel = { readonly file: AgentFile; readonly model: AgentModel | null };

export type ChosenAgents = {
  readonly agents: readonly AgentWithModel[];
  /** In whole sentences, for the person. */
  readonly problems: readonly string[];
};

/** Whether a name is another program's name for a model, and not defined in the settings. The agent then uses the session's model. */
export function isModelElsewhere(name: string, { models }: Pick<ResolvedConfiguration, "models">): boolean {
  return modelsElsewhere.has(name) && !Object.hasOwn(models, name);
}

/**
 * A model that cannot be used does not keep the session from starting: the agent's calls fail, and say why.
 * @param sessionModel the model of agents that name none
 */
export async function chooseAgentModels(
  configured: Pick<ResolvedConfiguration, "trust" | "models" | "limits" | "settings">,
  options: ModelOptions,
  sessionModel: Model,
): Promise<ChosenAgents> {
  const { all, list, problems } = resolveAgents(configured.trust);
  const chosen = new Map<string, Promise<AgentModel>>();
  const choose = (name: string) => {
    const choosing = chosen.get(name) ?? chooseConfiguredModel(name, options, configured);
    chosen.set(name, choosing);
    return choosing;
  };
  const notes: string[] = [];
  const turnOff = (file: AgentFile, model: string, why: string): AgentWithModel => {
    notes.push(toOneLine(`The agent ${file.name} cannot be used. ${why}`));
    return { file, model: { model: createUnusableModel(model, why), timeouts: {}, isUnusable: true } };
  };
  const chooseNamed = async (file: AgentFile): Promise<AgentWithModel> => {
    const { name, model: modelName } = file;
    if (modelName === null) return { file, model: null };
    if (isModelElsewhere(modelName, configured)) {
      notes.push(
        `The agent ${name} asks for the model ${modelName}, which the setting models does not define: it uses the session's model.`,
      );
      return { file, model: null };
    }
    try {
      return { file, model: await choose(modelName) };
    } catch (error) {
      const why = getErrorMessage(error);
      const isName = !modelName.includes("/") && !Object.hasOwn(configured.models, modelName);
      return turnOff(file, modelName, isName ? explainUnknownName(file, modelName) : why);
    }
  };
  const chooseFor = async (file: AgentFile): Promise<AgentWithModel> => {
    const agent = await chooseNamed(file);
    const model = agent.model?.model ?? sessionModel;
    const why = explainMissingPrice(file, model, agent.model === null ? {} : configured.limits);
    return why === null ? agent : turnOff(file, model.id, why);
  };
  // Sequential, so that the messages are in the order of the list.
  const agents: AgentWithModel[] = [];
  for (const file of list) agents.push(await chooseFor(file));
  return { agents, problems: [...problems, ...describeMisspelledAgents(configured, all), ...notes] };
}

function explainUnknownName({ path }: AgentFile, model: string): string {
  return `${path} names the model ${model}, which is not a name of the setting models. Define it there, or write provider/model or inherit.`;
}

/** Why a limit in dollars rules out the model; null if it does not. */
function explainMissingPrice(
  { path, limits }: AgentFile,
  model: Model,
  configuredLimits: ResolvedConfiguration["limits"],
): string | null {
  if (hasPrice(model)) return null;
  const { id } = model;
  if (limits.maxCostUsd !== undefined)
    return `${path} sets a budget, and the model ${id} has no known price. Remove the budget, or use another model.`;
  if (configuredLimits.maxCostUsd === undefined) return null;
  return `There is a limit in dollars, and the model ${id} of ${path} has no known price. Use another model.`;
}

/** The agents without their models, for commands that never call them. */
export function withoutModels(files: readonly AgentFile[]): readonly AgentWithModel[] {
  return files.map((file) => ({ file, model: null }));
}

/** It has a price, because a limit in dollars would otherwise refuse the whole session. */
function createUnusableModel(id: string, why: string): Model {
  return {
    id,
    price: { input: 0, output: 0 },
    // biome-ignore lint/correctness/useYield: it only throws.
    async *stream() {
      throw new PawlError("bad_configuration", `The model ${id} cannot be used. ${why}`);
    },
  };
}
