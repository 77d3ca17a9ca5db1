/**
 * An agent's options, checked and compiled once.
 */

import type { Compaction } from "../../context/compaction-options.js";
import type { CompiledContext } from "../../context/context-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { HolderDefaults } from "../../core/machine/inbox.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import type { SessionBinding, State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import type { SystemPrompt } from "../../ports/context.js";
import type { RunModel, ToolSpecification } from "../../ports/model.js";
import type { Observer } from "../../ports/observer.js";
import type { CanExecuteTool } from "../../ports/permission.js";
import type { PromptCache } from "../../ports/prompt-cache.js";
import type { RepairToolCall } from "../../ports/repair.js";
import type { Services } from "../../ports/services.js";
import type { Store } from "../../ports/store.js";
import type { AnyTool, RunTool } from "../../ports/tool.js";
import type { CalledModel, CalledModels } from "../model/models.js";
import type { Listener } from "../observers/listeners.js";
import type { Redact } from "../observers/redact.js";
import { type CompiledTool, compileBuiltIn, listTools, normaliseTools, type Tools } from "../tools/compile-tools.js";
import type { CompiledInput } from "../tools/schema.js";
import type { AgentFamily } from "./agent-family.js";
import type { Hooks } from "./compile-hooks.js";
import type { ConditionalHandoff } from "./handoffs.js";
import type { LocalRunStates } from "./local-run-options.js";
import type { CompiledConditions } from "./stop-conditions.js";
import { createSearchTools, type SearchDeps, selectDeferred } from "./tool-search.js";

export type CompiledAgent = {
  readonly name: string;
  readonly models: CalledModels;
  /** The models that a run or a hook can choose by name. */
  readonly named: ReadonlyMap<string, CalledModel>;
  readonly settings?: ModelSettings;
  readonly promptCache: PromptCache;
  readonly systemPrompt?: SystemPrompt<unknown, unknown>;
  readonly tools: ReadonlyMap<string, CompiledTool>;
  readonly specifications: readonly ToolSpecification[];
  /** Whether some tools are deferred: they are not in the specifications, and the model has to find them. */
  readonly hasDeferredTools: boolean;
  /** The specifications that are offered until an output is truncated: without the tools that read the rest of one. */
  readonly specificationsAtFirst: readonly ToolSpecification[];
  /** Both lists for a model that supports deferred tools. The deferred tools come last. */
  readonly withDeferred: Pick<CompiledAgent, "specifications" | "specificationsAtFirst">;
  /** The same with the tools of one run added. @throws PawlError `duplicate_tool` */
  readonly withTools: (extra: ReadonlyMap<string, CompiledTool>) => ToolSet;
  readonly limits: RunLimits;
  readonly canExecuteTool?: CanExecuteTool;
  /** Null: calls are not repaired. Absent: only the built-in repair is used. */
  readonly repairToolCall?: RepairToolCall | null;
  readonly hooks: Hooks;
  /** Null if the agent has no stop conditions. */
  readonly stopWhen: CompiledConditions | null;
  /** A log is being replayed: the author's functions are not called, and their decisions are taken from the log. */
  readonly isReplay?: true;
  readonly deps: unknown;
  /** Executes the calls instead of the tools' own functions. */
  readonly runTool?: RunTool;
  /** Makes the model calls instead of the models' own streams. */
  readonly runModel?: RunModel;
  /** The agent is only rehearsed: it plays a recorded session. The agents that it reaches inherit the rehearsal. */
  readonly rehearsal?: Rehearsal;
  /** The schema of the params of its runs; null if they have none. */
  readonly params: CompiledInput | null;
  readonly services: Services;
  readonly compaction: Compaction;
  readonly context: CompiledContext;
  readonly locals: LocalRunStates;
  readonly root?: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly makeId: MakeId;
  readonly leaseMs: number;
  /** The address at which other processes reach this process. */
  readonly address?: string;
  readonly listeners: readonly Listener[];
  /** The observers that also observe the agents that are used as tools. */
  readonly childObservers: readonly Observer[];
  readonly redact: Redact;
  /** The `traceparent` of the currently active span, from an observer. */
  readonly activeTraceparent: () => string | undefined;
  readonly family: AgentFamily;
  /** The agents that can be reached through handoffs; null if the agent has no handoffs. */
  readonly graph: AgentGraph | null;
  /** The handoffs that are offered only if a condition holds; null if there are none. */
  readonly conditionalHandoffs: readonly ConditionalHandoff[] | null;
  /** The shape of its answers to a parent's calls, if the tool that calls this agent declares one. */
  readonly toolOutput?: CompiledInput;
};

/** How an agent plays a recorded session. Neither observers nor callbacks are notified. */
export type Rehearsal = {
  /** Tools that the named agent has in addition to its own. */
  readonly toolsFor: (agent: string) => readonly AnyTool[];
};

/** The agents that an agent can reach through handoffs, itself included. */
export type AgentGraph = {
  /** The names of the agents, itself included. @throws PawlError `bad_configuration` */
  readonly names: () => readonly string[];
  /** The compiled form of a reachable agent; undefined for any other name. @throws PawlError `bad_configuration` */
  readonly getAgent: (name: string) => CompiledAgent | undefined;
  /** The agents that have been compiled, without the first. */
  readonly compiled: () => readonly CompiledAgent[];
};

/** @throws PawlError `bad_configuration` */
export function checkName(name: string): string {
  if (typeof name === "string" && name !== "" && name.length <= 200) return name;
  throw new PawlError(
    "bad_configuration",
    "An agent's name must be a string of 1 to 200 characters. Omit it to use the default.",
  );
}

/** @throws PawlError `bad_configuration` for a lease that is too short to be renewed in time */
export function checkLease(leaseMs: number): number {
  if (Number.isFinite(leaseMs) && leaseMs >= minLeaseMs) return leaseMs;
  throw new PawlError("bad_configuration", `leaseMs is ${leaseMs}; it must be ${minLeaseMs} or more.`);
}

const minLeaseMs = 100;

/** @throws PawlError `bad_configuration` if no process can be reached at the address */
export function checkAddress(address: string | undefined): string | undefined {
  if (address === undefined || (address.length <= 500 && /^(?:https?:\/\/[^/\s]|unix:\/)\S*$/.test(address)))
    return address;
  throw new PawlError(
    "bad_configuration",
    `address is ${JSON.stringify(address.slice(0, 100))}; it must be like http://10.0.0.5:4111, https://host or unix:/path.`,
  );
}

export type ToolSet = Pick<
  CompiledAgent,
  "tools" | "specifications" | "specificationsAtFirst" | "withDeferred" | "hasDeferredTools"
>;

/**
 * @param builtIn added only if the author has tools. An author's tool takes precedence over a built-in tool of the same name.
 * @param deps what deferred tools depend on
 */
export function compileTools(
  tools: Tools,
  handoffs: readonly AnyTool[],
  builtIn: readonly AnyTool[],
  deps: SearchDeps,
): ToolSet & Pick<CompiledAgent, "withTools"> {
  const agentTools = normaliseTools(handoffs.length === 0 ? tools : [...listTools(tools), ...handoffs]);
  return {
    ...buildToolSet(new Map(agentTools), builtIn, deps),
    withTools: (extra) => buildToolSet(new Map([...agentTools, ...extra]), builtIn, deps),
  };
}

/** @param ownTools the tools that find deferred tools are added to this map */
function buildToolSet(ownTools: Map<string, CompiledTool>, builtIn: readonly AnyTool[], deps: SearchDeps): ToolSet {
  const deferred = selectDeferred(ownTools, deps);
  if (deferred.size > 0)
    for (const one of createSearchTools(deferred, ownTools, deps)) ownTools.set(one.tool.name, one);
  const compiled = new Map(ownTools);
  if (ownTools.size > 0)
    for (const tool of builtIn) if (!ownTools.has(tool.name)) compiled.set(tool.name, compileBuiltIn(tool));
  const toSpecifications = (some: typeof ownTools) =>
    deepFreeze([...some.values()].filter(({ tool }) => !deferred.has(tool.name)).map((one) => one.specification));
  const specifications = toSpecifications(compiled);
  const specificationsAtFirst = compiled.size === ownTools.size ? specifications : toSpecifications(ownTools);
  const added = [...deferred.values()].map(({ specification }) => ({ ...specification, defer: true }) as const);
  const all = deepFreeze([...specifications, ...added]);
  return {
    tools: compiled,
    specifications,
    specificationsAtFirst,
    withDeferred: {
      specifications: all,
      specificationsAtFirst:
        specificationsAtFirst === specifications ? all : deepFreeze([...specificationsAtFirst, ...added]),
    },
    hasDeferredTools: deferred.size > 0,
  };
}

/** The defaults that the lease holder applies to a message whose sender has no agent. */
export function holderDefaults(agent: CompiledAgent, state: Pick<State, "session">): HolderDefaults {
  const { limits, models } = getSessionAgent(agent, state);
  return { limits, model: models[0].model.id };
}

/**
 * The compiled agent that has the session now. Every effect, draft, replay and read of a session gets its agent here. Null if the given
 * agent does not reach that agent.
 */
export function findSessionAgent(agent: CompiledAgent, { session }: Pick<State, "session">): CompiledAgent | null {
  if (session === null || session.agent === agent.name) return agent;
  return agent.graph?.getAgent(session.agent) ?? null;
}

/** The same for work that belongs to no agent: falls back to the given agent. */
export function getSessionAgent(agent: CompiledAgent, state: Pick<State, "session">): CompiledAgent {
  return findSessionAgent(agent, state) ?? agent;
}

/** The family of the agent that has the session. */
export function getSessionFamily(agent: CompiledAgent, state: Pick<State, "session">): AgentFamily {
  return getSessionAgent(agent, state).family;
}

/** Whether the agent can drive the sessions of an agent of this name. */
export function reaches({ name, graph }: Pick<CompiledAgent, "name" | "graph">, agent: string): boolean {
  return agent === name || graph?.names().includes(agent) === true;
}

/** The families of all agents that can be reached, those of the named agent first. */
export function listFamilies(
  { name, family, graph }: Pick<CompiledAgent, "name" | "family" | "graph">,
  first: string | undefined,
): readonly AgentFamily[] {
  if (graph === null) return [family];
  const names = [...new Set([first ?? name, ...graph.names()])];
  return names.flatMap((reached) => graph.getAgent(reached)?.family ?? []);
}

/** The tool names of all agents that can be reached: through handoffs, and as tools at any depth. */
export function listToolNames(agent: Pick<CompiledAgent, "tools" | "family" | "graph" | "name">): readonly string[] {
  const { graph, name } = agent;
  const others = (graph?.names() ?? []).flatMap((other) => (other === name ? [] : (graph?.getAgent(other) ?? [])));
  return [agent, ...others].flatMap(({ tools, family }) => [
    ...tools.keys(),
    ...[...family.children.values()].flatMap((child) => child.toolNames()),
  ]);
}

/** Only the agent and root of a session may continue it. @throws PawlError `agent_mismatch`, `root_mismatch` */
export function checkAgent(
  sessionId: string,
  { session }: { readonly session: SessionBinding | null },
  agent: CompiledAgent,
): void {
  if (session === null) return;
  const { root } = agent;
  if (!reaches(agent, session.agent)) throw agentMismatch(sessionId, session.agent, agent);
  if (session.root !== undefined && root !== undefined && session.root !== root)
    throw new PawlError(
      "root_mismatch",
      `Session ${sessionId} works in ${session.root}, not in ${root}. Continue it there, or start a new session.`,
    );
}

export function agentMismatch(sessionId: string, agent: string, { name, graph }: CompiledAgent): PawlError {
  const reached = graph === null ? "" : ", which does not hand over to it";
  return new PawlError(
    "agent_mismatch",
    `Session ${sessionId} belongs to the agent "${agent}", not to "${name}"${reached}. Continue it with that agent, or start a new session.`,
  );
}
