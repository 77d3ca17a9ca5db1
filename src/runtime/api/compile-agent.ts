/**
 * Compiles an agent from its options: for its own process, or for the process of an agent that hands over to it.
 */
import { compileCompaction } from "../../context/compaction-options.js";
import { compileContext } from "../../context/context-options.js";
import { compileServices, createOutputTools } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import type { Model } from "../../ports/model.js";
import type { PriceTable } from "../../ports/services.js";
import type { Holder, Store } from "../../ports/store.js";
import type { AnyTool } from "../../ports/tool.js";
import type { AgentFamily, ParentLink } from "../agent/agent-family.js";
import type { Inherited } from "../agent/agent-graph.js";
import { createFamily } from "../agent/agent-tool.js";
import { createCheckedClock } from "../agent/checked-clock.js";
import { compileHooks } from "../agent/compile-hooks.js";
import {
  type AgentGraph,
  type CompiledAgent,
  checkAddress,
  checkLease,
  checkName,
  compileTools,
} from "../agent/compiled-agent.js";
import { createHandoffTools, listConditionalHandoffs } from "../agent/handoffs.js";
import { compileLimits } from "../agent/limits.js";
import { compileSettings } from "../agent/model-settings.js";
import { compileParams } from "../agent/params.js";
import { checkConditionTools, compileStopWhen } from "../agent/stop-conditions.js";
import { makeRandomId, systemClock } from "../lib/clock.js";
import { createCheckedStore } from "../log/checked-store.js";
import { compileModels } from "../model/models.js";
import { compileListeners, type WatchOptions } from "../observers/listeners.js";
import { findToolSearch } from "../tools/ai-sdk-tool-search.js";
import { listTools } from "../tools/compile-tools.js";
import type { AgentOptions } from "./agent-options.js";
import { createBackgroundTools } from "./background-tools.js";

/** The defaults for what an agent's author does not set. */
export type AgentDefaults<ModelLike> = {
  readonly asModel: (model: ModelLike) => Model;
  readonly createStore: () => Store;
  readonly createHolder: () => Holder;
  readonly isDead: (holder: Holder) => boolean;
  readonly listPrices: PriceTable;
  readonly contextWindows: { readonly [modelId: string]: number };
  readonly createOutputTools: (maxBytes: number) => readonly AnyTool[];
};

/** Inherited by an agent from the agent that uses it as a tool. */
type ParentFields = { readonly parent?: ParentLink } & Pick<CompiledAgent, "toolOutput" | "rehearsal">;

export type Surroundings<ModelLike> = AgentDefaults<ModelLike> & ParentFields;

/** Compiles an agent that a session was handed over to, in the process of the agent that handed it over. */
export function compileReachedAgent<ModelLike>(
  options: AgentOptions<ModelLike>,
  surroundings: AgentDefaults<ModelLike>,
  { graph, listeners, childObservers, redact, locals, rehearsal, ...shared }: Inherited,
  link: ParentLink,
  parent: ParentLink | undefined,
): CompiledAgent {
  const parentDefaults = { ...surroundings, ...defined({ parent, rehearsal }) };
  const observers = childObservers;
  const compiled = compileAgent({ ...options, ...shared, observers }, parentDefaults, link, graph);
  return { ...compiled, listeners, redact, locals };
}

export function compileAgent<ModelLike>(
  options: AgentOptions<ModelLike>,
  surroundings: Surroundings<ModelLike>,
  link: ParentLink,
  graph: AgentGraph | null,
): CompiledAgent {
  const { rehearsal } = surroundings;
  const { name = "agent", tools: ownTools = [], limits = {}, systemPrompt, canExecuteTool, root } = options;
  const shared = compileShared(options, surroundings);
  const compiledModels = compileModels(options, surroundings.asModel);
  const compaction = compileCompaction(options.compaction, surroundings);
  const models = [...compiledModels.models, ...compiledModels.named.values()].map(({ model }) => model);
  const pricedModels = compaction.model === null ? models : [...models, compaction.model];
  const services = compileServices(options, surroundings.listPrices, shared.store, pricedModels);
  const context = compileContext(options.context);
  const sourceTools = context.sources.flatMap(({ tools: toolsOfSource = [] }) => toolsOfSource);
  const tools = listTools(ownTools);
  const rehearsed = rehearsal?.toolsFor(name).filter((added) => !tools.some((own) => own.name === added.name)) ?? [];
  const { store, clock } = shared;
  const backgroundTools = createBackgroundTools(tools, { store, clock, getFamily: () => family });
  const compiled = compileTools(
    [...tools, ...rehearsed, ...sourceTools, ...backgroundTools],
    createHandoffTools(options.handoffs ?? []),
    createOutputTools(options, services, surroundings.createOutputTools),
    {
      windowTokens: compaction.computeBudget(compiledModels.models[0].model).tokens,
      tokens: services.tokens,
      search: findToolSearch(ownTools),
    },
  );
  const watched = rehearsal === undefined ? options : withoutListeners(options);
  const childObservers = (watched.observers ?? []).filter(({ children }) => children === true);
  const family: AgentFamily = createFamily(compiled.tools, link, { ...shared, childObservers }, surroundings.parent);
  const budgeted = { ...compiledModels, services, family };
  return {
    name: checkName(name),
    ...budgeted,
    compaction,
    context,
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(options.settings === undefined ? {} : { settings: compileSettings(options.settings) }),
    promptCache: options.promptCache ?? "auto",
    ...compiled,
    limits: compileLimits(limits, budgeted),
    ...defined({ canExecuteTool, repairToolCall: options.repairToolCall }),
    hooks: compileHooks(options.hooks ?? []),
    stopWhen: compileConditions(options, compiled.tools),
    deps: options.deps,
    params: options.params === undefined ? null : compileParams(options.params),
    locals: new Map(),
    ...(root === undefined ? {} : { root }),
    graph,
    conditionalHandoffs: graph === null ? null : listConditionalHandoffs(compiled.tools),
    ...shared,
    ...defined({ toolOutput: surroundings.toolOutput }),
    childObservers,
    ...compileListeners(watched),
  };
}

/** Shared by the agent and the agents that it reaches. */
function compileShared<ModelLike>(options: AgentOptions<ModelLike>, surroundings: Surroundings<ModelLike>) {
  const { store, clock = systemClock, makeId = makeRandomId, leaseMs = 15_000, address, runTool, runModel } = options;
  return {
    store: createCheckedStore(store ?? surroundings.createStore()),
    clock: createCheckedClock(clock),
    makeId,
    leaseMs: checkLease(leaseMs),
    ...defined({ address: checkAddress(address), runTool, runModel, rehearsal: surroundings.rehearsal }),
  };
}

/** Removes everything that would be notified. */
function withoutListeners({ redact }: WatchOptions): WatchOptions {
  return defined({ redact });
}

function compileConditions(
  { stopWhen }: Pick<AgentOptions, "stopWhen">,
  tools: CompiledAgent["tools"],
): CompiledAgent["stopWhen"] {
  if (stopWhen === undefined) return null;
  const conditions = compileStopWhen(stopWhen, "stopWhen");
  checkConditionTools(conditions, tools);
  return conditions;
}
