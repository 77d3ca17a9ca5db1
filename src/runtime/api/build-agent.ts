/**
 * Builds an agent from its options: a model, tools and rules. An agent gets everything from its options, and registers
 * nothing globally (LOOP-1).
 */

import { defined } from "../../core/data/defined.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { RunResult } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Model, ToolSpecification } from "../../ports/model.js";
import type { Tool } from "../../ports/tool.js";
import { createItems } from "../../stream/tail/tail.js";
import type { ParentLink } from "../agent/agent-family.js";
import { bindAgent, createGraph } from "../agent/agent-graph.js";
import { type AgentToolOptions, type BindChild, type BoundChild, createAgentTool } from "../agent/agent-tool.js";
import { checkSessionId } from "../agent/check-run-options.js";
import { type CompiledAgent, listFamilies, listToolNames, type Rehearsal, reaches } from "../agent/compiled-agent.js";
import type { Input } from "../agent/input-parts.js";
import { findUnpricedModels, findUnpricedReached } from "../agent/limits.js";
import type { Replay, ReplayOptions } from "../agent/replay-types.js";
import { createSessionInfo, type OutputOptions, type StartOptions } from "../agent/run-input.js";
import type { FamilyItem, ItemsOf, StreamItem } from "../agent/stream-types.js";
import { createLeaseKeeper } from "../driver/lease-keeper.js";
import { runInTurn } from "../lib/serial.js";
import { shutDownError } from "../log/driver-errors.js";
import { replaySession } from "../replay/replay-session.js";
import { attendSession, deliver, releaseIfIdle, takeUpSession } from "../session/deliver.js";
import type { InterruptedRuns } from "../session/interrupted-runs.js";
import { drainLocalSession, leaveLocalSession } from "../session/leave-session.js";
import {
  createLocalSession,
  findDrivenState,
  findDriver,
  type LocalSession,
  type SessionHost,
  whileInUse,
} from "../session/local-session.js";
import { createItemsOf } from "../session/session-items.js";
import { subscribe } from "../session/subscribe.js";
import { createInboxWatch } from "../session/watch-inbox.js";
import { createWatchedLogs } from "../session/watch-logs.js";
import { type AgentOptions, checkAgentOptions, freezeOptions } from "./agent-options.js";
import { checkCall } from "./check-call-options.js";
import { compileAgent, compileReachedAgent, type Surroundings } from "./compile-agent.js";
import { streamRunItems } from "./family-stream.js";
import { forkSession } from "./fork.js";
import { createIterator, type RunView } from "./iterate.js";
import { createSession } from "./session.js";
import type { Session } from "./session-handle.js";
import { type RunMethod, startRun } from "./start-run.js";

/**
 * A run as a stream of events and deltas. Leaving the loop does not cancel the run.
 *
 * @example
 * ```ts
 * const stream = agent.runStream("Which invoices are open?");
 * for await (const item of stream) {
 *   if (item.type === "delta" && item.delta.kind === "text-delta") process.stdout.write(item.delta.text);
 *   if (item.type === "tool_call") console.log(item.name, item.input);
 * }
 * const result = await stream.result;
 * ```
 */
export type RunStream<Output = never, Item = StreamItem> = AsyncIterable<Item> & {
  readonly sessionId: string;
  readonly runId: string;
  /** Resolves when the run has ended or waits, even if the stream is not read. */
  readonly result: Promise<RunResult<Output>>;
};

export type StreamOptions = StartOptions & {
  /**
   * If true, the stream includes the items of child sessions at any depth: after the `child_started` of their call and before its
   * `tool_result`. Each item names its session. Default: false.
   */
  readonly children?: boolean;
};

type WithChildren = {
  /** Includes the items of child sessions. */
  readonly children: true;
};

export type Agent<ModelLike = Model> = {
  /** The options that the agent was created with, and its store. Frozen. */
  readonly options: AgentOptions<ModelLike>;
  /** Runs a request until it ends or waits. A failure inside the run is in the result; only misuse throws. */
  readonly run: RunMethod;
  /** The same as `run`, as a stream of everything that happens. */
  readonly runStream: {
    <Output>(
      input: Input,
      options: StreamOptions & OutputOptions<Output> & WithChildren,
    ): RunStream<Output, FamilyItem>;
    (input: Input, options: StreamOptions & WithChildren): RunStream<never, FamilyItem>;
    <Output>(input: Input, options: StartOptions & OutputOptions<Output>): RunStream<Output, StreamItem<Output>>;
    (input: Input, options?: StartOptions): RunStream;
  };
  /** The same as `run`, yielding a frozen view after each step, after each error and at the end. */
  readonly iterate: (input: Input, options?: StartOptions) => AsyncGenerator<RunView, RunResult, undefined>;
  /** A session by its id. It does not have to exist yet: the first run or input creates it. */
  readonly session: (sessionId: string) => Session;
  /** The tools that the model is offered, with their schemas. Frozen. */
  readonly specifications: () => readonly ToolSpecification[];
  /** A new agent with these options changed, and the same store and other parts. This agent does not change. */
  readonly with: (changes: Partial<AgentOptions<ModelLike>>) => Agent<ModelLike>;
  /**
   * This agent as a tool of another agent. Each call is a separate session in the store of the other agent, which holds nothing while it
   * waits.
   * @throws PawlError `bad_configuration` if this agent has no name
   */
  readonly asTool: <Input>(options: AgentToolOptions<Input>) => Tool;
  /**
   * Starts nothing more, waits up to `graceMs` milliseconds (default: 5,000) for running calls, and releases the sessions. Runs that do not
   * finish in time are `interrupted` and can be resumed.
   */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** Options that replace the options of the rehearsed agent, and its additional tools. */
export type RehearsalOptions = Required<Pick<AgentOptions, "store" | "runTool" | "runModel">> & Rehearsal;

/** An agent with any kind of model. */
export type RehearsedAgent = Omit<Agent, "options" | "with">;

/** The access to an agent that its options and methods do not give. */
type Internals = {
  readonly rebuild: (options: RehearsalOptions) => RehearsedAgent;
  readonly toolNames: () => readonly string[];
  readonly drives: (sessionId: string) => boolean;
};

const internals = new WeakMap<object, Internals>();

/** @throws PawlError `bad_configuration` for an agent that was not created by `createAgent` */
function getInternals(agent: object): Internals {
  const found = internals.get(agent);
  if (found === undefined)
    throw new PawlError(
      "bad_configuration",
      "This agent was not created by createAgent() or an engine. Pass an agent that was.",
    );
  return found;
}

/**
 * Returns the same agent with another store, and with its tool and model calls routed through these functions. Observers of the agent and
 * of the agents that it reaches are not notified.
 * @throws PawlError `bad_configuration` for an agent that was not created by `createAgent`
 */
export function rehearse(agent: object, options: RehearsalOptions): RehearsedAgent {
  return getInternals(agent).rebuild(options);
}

/**
 * The names of the tools of an agent and of all agents that it reaches.
 * @throws PawlError `bad_configuration` for an agent that was not created by `createAgent`
 */
export function listReachableTools(agent: object): readonly string[] {
  return getInternals(agent).toolNames();
}

/** Whether an agent of this process drives the session, so that no other process can hold it. */
export function isDrivenBy(agent: object, sessionId: string): boolean {
  return internals.get(agent)?.drives(sessionId) ?? false;
}

/** @throws PawlError `bad_configuration`, `duplicate_tool` */
export function buildAgent<ModelLike>(
  given: AgentOptions<ModelLike>,
  surroundings: Surroundings<ModelLike>,
  lineage: object = {},
): Agent<ModelLike> {
  checkAgentOptions(given);
  const options = freezeOptions({ ...given, store: given.store ?? surroundings.createStore() });
  const self = () => agent;
  const assembled = assemble(options, surroundings, self);
  const { agent: compiled, getLocalSession, session, shutdown, interrupted } = assembled;
  const start = (what: Parameters<typeof startRun>[0], input: Input, startOptions: StartOptions) =>
    startRun(what, input, startOptions, compiled, getLocalSession, interrupted);
  const run = async (input: Input, startOptions: StartOptions = {}) => start("run()", input, startOptions).begin();
  const runStream = (input: Input, startOptions: StreamOptions = {}): RunStream<never, StreamItem | FamilyItem> => {
    const { sessionId, runId, begin } = start("runStream()", input, startOptions);
    const subscription = subscribe(getLocalSession(sessionId), { runId });
    const result = begin(subscription);
    result.catch(() => {});
    const family = startOptions.children === true ? streamRunItems(sessionId, subscription, assembled) : null;
    const items = () => family ?? createItems(subscription);
    return { sessionId, runId, result, [Symbol.asyncIterator]: items };
  };

  const agent: Agent<ModelLike> = {
    options,
    // The cast trusts the schema: its parsed value has the type that the schema declares.
    run: run as RunMethod,
    runStream: runStream as Agent["runStream"],
    iterate(input, startOptions = {}) {
      const { sessionId, runId, begin } = start("iterate()", input, startOptions);
      return createIterator(() => getLocalSession(sessionId), runId, begin);
    },
    session,
    specifications: () => compiled.specifications,
    with: (changes) => {
      const { store = options.store } = changes;
      return buildAgent({ ...options, ...changes, ...(store === undefined ? {} : { store }) }, surroundings, lineage);
    },
    asTool(toolOptions) {
      if (options.name === undefined)
        throw new PawlError(
          "bad_configuration",
          "An agent that is used as a tool needs its own name, because its sessions belong to that name. Set the option name.",
        );
      const bind: BindChild = (link, { childObservers, rehearsal, ...shared }, toolOutput) => {
        const observers = [...new Set([...(options.observers ?? []), ...childObservers])];
        const childDefaults = { ...surroundings, parent: link, ...defined({ toolOutput, rehearsal }) };
        return childAgent(assemble({ ...options, ...shared, observers }, childDefaults, self));
      };
      return createAgentTool(bind, options.name, toolOptions);
    },
    shutdown,
  };
  internals.set(agent, {
    rebuild: ({ toolsFor, ...changes }) =>
      buildAgent({ ...options, ...changes }, { ...surroundings, rehearsal: { toolsFor } }, lineage),
    toolNames: () => listToolNames(compiled),
    drives: (sessionId) => findDriver(assembled.sessions.get(sessionId)) !== null,
  });
  bindAgent(agent, {
    name: compiled.name,
    lineage,
    handoffs: options.handoffs ?? [],
    compile: (inherited, { link, parent }) => compileReachedAgent(options, surroundings, inherited, link, parent),
  });
  return agent;
}

/** An agent in this process, with its sessions and the agents that it uses as tools. */
type Assembled = {
  readonly agent: CompiledAgent;
  readonly getLocalSession: (sessionId: string) => LocalSession;
  readonly isShutDown: () => boolean;
  /** The sessions that are in this process now. */
  readonly sessions: ReadonlyMap<string, LocalSession>;
  readonly itemsOf: ItemsOf;
  readonly session: (sessionId: string) => Session;
  readonly replay: (sessionId: string, options: ReplayOptions) => Promise<Replay>;
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
  readonly interrupted: InterruptedRuns;
};

function assemble<ModelLike>(
  options: AgentOptions<ModelLike>,
  surroundings: Surroundings<ModelLike>,
  self: () => Agent<ModelLike>,
): Assembled {
  const link: ParentLink = {
    async takeUp(sessionId) {
      // A caller that waits for the parent here may have consumed the message already.
      const isPosted = (await store.inbox(sessionId)).length > 0;
      if (isPosted && shutdownPromise === null) await takeUpSession(getLocalSession(sessionId));
    },
  };
  const graph =
    options.handoffs === undefined ? null : createGraph(self, () => agent, { link, parent: surroundings.parent });
  const agent: CompiledAgent = compileAgent(options, surroundings, link, graph);
  const { store, clock, leaseMs } = agent;
  const sessions = new Map<string, LocalSession>();
  const interrupted: InterruptedRuns = new Map();
  let shutdownPromise: Promise<void> | null = null;
  const holder = { ...surroundings.createHolder(), ...defined({ address: agent.address }) };
  const keeper = createLeaseKeeper({ store, clock, leaseMs, holder, isDead: surroundings.isDead });
  const host: SessionHost = {
    keeper,
    inboxes: createInboxWatch(store, clock),
    logs: createWatchedLogs(store),
    sessions,
    postLate: (sessionId, message) => void postLate(sessionId, message),
  };

  function getLocalSession(sessionId: string): LocalSession {
    let localSession = sessions.get(sessionId);
    if (localSession === undefined) {
      if (shutdownPromise !== null) throw shutDownError(agent.name, sessionId);
      localSession = createLocalSession(sessionId, agent, host);
      sessions.set(sessionId, localSession);
    }
    return localSession;
  }

  const itemsOf = createItemsOf(store, getLocalSession);

  async function postLate(sessionId: string, message: InboxMessage): Promise<void> {
    try {
      await deliver(getLocalSession(sessionId), message, { shared: true });
    } catch {
      // If the store failed or the agent was shut down, the result of the run has reported it.
    }
  }

  function session(sessionId: string): Session {
    checkSessionId(sessionId);
    return createSession(sessionId, agent, {
      live: () => getLocalSession(sessionId),
      itemsOf,
      drivenState: () => findDrivenState(sessions.get(sessionId)),
      isStarting: () => (sessions.get(sessionId)?.operationsUnderWay ?? 0) > 0,
      afterRequests(act) {
        const localSession = sessions.get(sessionId);
        return localSession === undefined || localSession.lastTurn === null
          ? act()
          : whileInUse(localSession, () => runInTurn(localSession, act));
      },
      interrupted,
      async leave(graceMs) {
        const localSession = sessions.get(sessionId);
        if (localSession !== undefined) await leaveLocalSession(localSession, graceMs);
      },
      async fork(at, targetId) {
        await forkSession(sessionId, targetId, at, agent, keeper);
        return session(targetId);
      },
      replay: (replayOptions) => replay(sessionId, replayOptions),
    });
  }

  const replay: Assembled["replay"] = (sessionId, replayOptions) =>
    replaySession(sessionId, agent, surroundings.createStore(), replayOptions);

  function shutdown(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkCall.shutdown(options);
    const { graceMs = 5_000 } = options;
    shutdownPromise ??= shutDownAll(graceMs);
    return shutdownPromise;
  }

  async function shutDownAll(graceMs: number): Promise<void> {
    const compiled = [agent, ...(agent.graph?.compiled() ?? [])];
    const children = compiled.flatMap(({ family }) => [...family.children.values()]);
    await Promise.all([
      ...[...sessions.values()].map((localSession) => drainLocalSession(localSession, graceMs)),
      ...children.map((child) => child.shutdown({ graceMs })),
    ]);
    for (const { catchUp } of agent.listeners) catchUp();
  }

  const isShutDown = () => shutdownPromise !== null;
  return { agent, getLocalSession, isShutDown, sessions, itemsOf, session, replay, shutdown, interrupted };
}

/** After a shutdown, other processes continue the child's sessions. */
function childAgent({
  agent,
  getLocalSession,
  isShutDown,
  sessions,
  itemsOf,
  session,
  replay,
  shutdown,
}: Assembled): BoundChild {
  return {
    name: agent.name,
    unpriced: findUnpricedModels(agent),
    unpricedReached: () => findUnpricedReached(agent),
    limits: agent.limits,
    reaches: (agentName) => reaches(agent, agentName),
    families: (agentName) => listFamilies(agent, agentName),
    toolNames: () => listToolNames(agent),
    sessionInfo: (title) => createSessionInfo(agent, title),
    takeUp: async (sessionId) => {
      if (!isShutDown()) await takeUpSession(getLocalSession(sessionId));
    },
    releaseIfIdle: async (sessionId) => {
      const localSession = sessions.get(sessionId);
      if (localSession !== undefined) await releaseIfIdle(localSession);
    },
    attend: (sessionId, onEnd) => (isShutDown() ? () => {} : attendSession(getLocalSession(sessionId), onEnd)),
    items: itemsOf,
    session,
    replay,
    shutdown,
  };
}
