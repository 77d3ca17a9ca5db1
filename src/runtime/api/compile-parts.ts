/**
 * Compiles the parts of an agent from its options: for its own process, or for that of an agent that hands over to it.
 */
import { compileCompaction } from "../../context/compaction-options.js";
import { compileContext } from "../../context/context-options.js";
import { compileServices, outputToolsOf } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import type { Model } from "../../ports/model.js";
import type { PriceTable } from "../../ports/services.js";
import type { Holder, Store } from "../../ports/store.js";
import type { AnyTool } from "../../ports/tool.js";
import type { ParentLink } from "../agent/agent-family.js";
import type { Inherited } from "../agent/agent-graph.js";
import { familyOf } from "../agent/agent-tool.js";
import { checkedClock } from "../agent/checked-clock.js";
import { compileHooks } from "../agent/compile-hooks.js";
import {
  type AgentGraph,
  type CompiledAgent,
  checkAddress,
  checkLease,
  checkName,
  compileTools,
} from "../agent/compiled-agent.js";
import { conditionalHandoffs, handoffTools } from "../agent/handoffs.js";
import { limitsOf } from "../agent/limits.js";
import { compileSettings } from "../agent/model-settings.js";
import { checkConditionTools, compileStopWhen } from "../agent/stop-conditions.js";
import { makeRandomId, systemClock } from "../lib/clock.js";
import { checkedStore } from "../log/checked-store.js";
import { compileModels } from "../model/models.js";
import { compileListeners } from "../observers/listeners.js";
import { toolSearchIn } from "../tools/ai-sdk-tool-search.js";
import { listTools } from "../tools/compile-tools.js";
import type { AgentOptions } from "./agent-options.js";

/** What an agent uses if its author gives nothing else. */
export type AgentDefaults<ModelLike> = {
  readonly asModel: (model: ModelLike) => Model;
  readonly createStore: () => Store;
  readonly createHolder: () => Holder;
  readonly isDead: (holder: Holder) => boolean;
  readonly listPrices: PriceTable;
  readonly contextWindows: { readonly [modelId: string]: number };
  readonly createOutputTools: (maxBytes: number) => readonly AnyTool[];
};

/** What an agent gets from the agent whose tool it is. */
type OfParent = { readonly parent?: ParentLink } & Pick<CompiledAgent, "toolOutput">;

export type Surroundings<ModelLike> = AgentDefaults<ModelLike> & OfParent;

/** An agent that another one has handed a session over to, in the process of that one. */
export function compileReached<ModelLike>(
  options: AgentOptions<ModelLike>,
  surroundings: AgentDefaults<ModelLike>,
  { graph, listeners, childObservers, redact, locals, ...shared }: Inherited,
  link: ParentLink,
  parent: ParentLink | undefined,
): CompiledAgent {
  const above = parent === undefined ? surroundings : { ...surroundings, parent };
  const observers = childObservers;
  const compiled = compileParts({ ...options, ...shared, observers }, above, link, graph);
  return { ...compiled, listeners, redact, locals };
}

export function compileParts<ModelLike>(
  options: AgentOptions<ModelLike>,
  surroundings: Surroundings<ModelLike>,
  link: ParentLink,
  graph: AgentGraph | null,
): CompiledAgent {
  const { name = "agent", tools = [], limits = {}, leaseMs = 15_000, systemPrompt, canExecuteTool, root } = options;
  const shared = {
    store: checkedStore(options.store ?? surroundings.createStore()),
    clock: checkedClock(options.clock ?? systemClock),
    makeId: options.makeId ?? makeRandomId,
    leaseMs: checkLease(leaseMs),
    ...defined({ address: checkAddress(options.address) }),
  };
  const called = compileModels(options, surroundings.asModel);
  const compaction = compileCompaction(options.compaction, surroundings);
  const models = [...called.models, ...called.named.values()].map(({ model }) => model);
  const priced = compaction.model === null ? models : [...models, compaction.model];
  const services = compileServices(options, surroundings.listPrices, shared.store, priced);
  const context = compileContext(options.context);
  const ofSources = context.sources.flatMap(({ tools: own = [] }) => own);
  const compiled = compileTools(
    [...listTools(tools), ...ofSources],
    handoffTools(options.handoffs ?? []),
    outputToolsOf(options, services, surroundings.createOutputTools),
    {
      windowTokens: compaction.budgetOf(called.models[0].model).tokens,
      tokens: services.tokens,
      search: toolSearchIn(tools),
    },
  );
  const childObservers = (options.observers ?? []).filter(({ children }) => children === true);
  const family = familyOf(compiled.tools, link, { ...shared, childObservers }, surroundings.parent);
  const budgeted = { ...called, services, family };
  return {
    name: checkName(name),
    ...budgeted,
    compaction,
    context,
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(options.settings === undefined ? {} : { settings: compileSettings(options.settings) }),
    promptCache: options.promptCache ?? "auto",
    ...compiled,
    limits: limitsOf(limits, budgeted),
    ...defined({ canExecuteTool, repairToolCall: options.repairToolCall }),
    hooks: compileHooks(options.hooks ?? []),
    stopWhen: conditionsOf(options, compiled.tools),
    deps: options.deps,
    locals: new Map(),
    ...(root === undefined ? {} : { root }),
    graph,
    conditionalHandoffs: graph === null ? null : conditionalHandoffs(compiled.tools),
    ...shared,
    ...defined({ toolOutput: surroundings.toolOutput }),
    childObservers,
    ...compileListeners(options),
  };
}

function conditionsOf(
  { stopWhen }: Pick<AgentOptions, "stopWhen">,
  tools: CompiledAgent["tools"],
): CompiledAgent["stopWhen"] {
  if (stopWhen === undefined) return null;
  const conditions = compileStopWhen(stopWhen, "stopWhen");
  checkConditionTools(conditions, tools);
  return conditions;
}
