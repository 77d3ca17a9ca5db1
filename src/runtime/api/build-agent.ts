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
import type { ParentLink } from "../agent/agent-family.js";
import { bindAgent, createGraph } from "../agent/agent-graph.js";
import { type AgentToolOptions, type BindChild, type BoundChild, makeAgentTool } from "../agent/agent-tool.js";
import { checkSessionId } from "../agent/check-run-options.js";
import { type CompiledAgent, familiesOf, reaches } from "../agent/compiled-agent.js";
import type { Input } from "../agent/input-parts.js";
import { unpricedModels, unpricedReached } from "../agent/limits.js";
import type { Replay, ReplayOptions } from "../agent/replay-types.js";
import { type OutputOptions, type StartOptions, sessionInfo } from "../agent/run-input.js";
import type { FamilyItem, ItemsOf, StreamItem } from "../agent/stream-types.js";
import { createLeaseKeeper } from "../driver/lease-keeper.js";
import { inTurn } from "../lib/serial.js";
import { shutDownError } from "../log/driver-errors.js";
import { replaySession } from "../replay/replay-session.js";
import { attend, deliver, letGo, takeUp } from "../session/deliver.js";
import type { InterruptedRuns } from "../session/interrupted-runs.js";
import { drainLocalSession, leaveLocalSession } from "../session/leave-session.js";
import { createLocalSession, type LocalSession, type SessionHost, subscribe, using } from "../session/local-session.js";
import { itemsFrom } from "../session/session-items.js";
import { createInboxes } from "../session/watch-inbox.js";
import { createWatchedLogs } from "../session/watch-logs.js";
import { itemsOf } from "../subscribers/subscription.js";
import { type AgentOptions, checkAgentOptions, closedOptions } from "./agent-options.js";
import { checkCall } from "./check-call-options.js";
import { type AgentDefaults, compileParts, compileReached, type Surroundings } from "./compile-parts.js";
import { runItems } from "./family-stream.js";
import { forkSession } from "./fork.js";
import { createIterator, type View } from "./iterate.js";
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
  /** Resolves when the run has ended or waits. It does so also if nobody reads the stream. */
  readonly result: Promise<RunResult<Output>>;
};

export type StreamOptions = StartOptions & {
  /**
   * If true, the items of child sessions at any depth come, too: behind the `child_started` of their call and before its
   * `tool_result`. Each item says of which session it is. Default: false.
   */
  readonly children?: boolean;
};

type WithChildren = {
  /** The items of child sessions come, too. */
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
  /** The same as `run`, with a frozen view after each step, after each error and at the end. */
  readonly iterate: (input: Input, options?: StartOptions) => AsyncGenerator<View, RunResult, undefined>;
  /** A session by its id. It need not exist yet: the first run or input makes it. */
  readonly session: (sessionId: string) => Session;
  /** The tools that its model is offered, with their schemas. Frozen. */
  readonly specifications: () => readonly ToolSpecification[];
  /** A new agent with these options changed, and the same store and other parts. This agent stays as it is. */
  readonly with: (changes: Partial<AgentOptions<ModelLike>>) => Agent<ModelLike>;
  /**
   * This agent as a tool of another agent. Each call is a session of its own in the store of the other agent, which
   * holds nothing while it waits.
   * @throws PawlError `bad_configuration` if this agent has no name
   */
  readonly asTool: <Input>(options: AgentToolOptions<Input>) => Tool;
  /**
   * Starts nothing more, waits up to `graceMs` milliseconds (default: 5,000) for running calls, and releases the
   * sessions. Runs that are cut off are `interrupted` and can be resumed.
   */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** @throws PawlError `bad_configuration`, `duplicate_tool` */
export function buildAgent<ModelLike>(
  given: AgentOptions<ModelLike>,
  surroundings: AgentDefaults<ModelLike>,
  lineage: object = {},
): Agent<ModelLike> {
  checkAgentOptions(given);
  const options = closedOptions({ ...given, store: given.store ?? surroundings.createStore() });
  const self = () => agent;
  const assembled = assemble(options, surroundings, self);
  const { parts, live, session, shutdown, interrupted } = assembled;
  const start = (what: Parameters<typeof startRun>[0], input: Input, startOptions: StartOptions) =>
    startRun(what, input, startOptions, parts, live, interrupted);
  const run = async (input: Input, startOptions: StartOptions = {}) => start("run()", input, startOptions).begin();
  const runStream = (input: Input, startOptions: StreamOptions = {}): RunStream<never, StreamItem | FamilyItem> => {
    const { sessionId, runId, begin } = start("runStream()", input, startOptions);
    const subscription = subscribe(live(sessionId), { runId });
    const result = begin(subscription);
    result.catch(() => {});
    const family = startOptions.children === true ? runItems(sessionId, subscription, assembled) : null;
    const items = () => family ?? itemsOf(subscription);
    return { sessionId, runId, result, [Symbol.asyncIterator]: items };
  };

  const agent: Agent<ModelLike> = {
    options,
    // The cast trusts the schema: its parsed value has the type that the schema declares.
    run: run as RunMethod,
    runStream: runStream as Agent["runStream"],
    iterate(input, startOptions = {}) {
      const { sessionId, runId, begin } = start("iterate()", input, startOptions);
      return createIterator(() => live(sessionId), runId, begin);
    },
    session,
    specifications: () => parts.specifications,
    with: (changes) => {
      const { store = options.store } = changes;
      return buildAgent({ ...options, ...changes, ...(store === undefined ? {} : { store }) }, surroundings, lineage);
    },
    asTool(toolOptions) {
      if (options.name === undefined)
        throw new PawlError(
          "bad_configuration",
          "An agent that is used as a tool needs a name of its own, to which its sessions belong. Set the option name.",
        );
      const bind: BindChild = (link, { childObservers, ...shared }, toolOutput) => {
        const observers = [...new Set([...(options.observers ?? []), ...childObservers])];
        const above = { ...surroundings, parent: link, ...defined({ toolOutput }) };
        return childAgent(assemble({ ...options, ...shared, observers }, above, self));
      };
      return makeAgentTool(bind, options.name, toolOptions);
    },
    shutdown,
  };
  bindAgent(agent, {
    name: parts.name,
    lineage,
    handoffs: options.handoffs ?? [],
    compile: (inherited, { link, parent }) => compileReached(options, surroundings, inherited, link, parent),
  });
  return agent;
}

/** An agent in this process, with its sessions and the agents behind its tools. */
type Assembled = {
  readonly parts: CompiledAgent;
  readonly live: (sessionId: string) => LocalSession;
  /** The sessions that are in this process now. */
  readonly isShutDown: () => boolean;
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
      // Whoever waits for the parent here may have taken the message already.
      const isPosted = (await store.inbox(sessionId)).length > 0;
      if (isPosted && ending === null) await takeUp(live(sessionId));
    },
  };
  const graph =
    options.handoffs === undefined ? null : createGraph(self, () => parts, { link, parent: surroundings.parent });
  const parts: CompiledAgent = compileParts(options, surroundings, link, graph);
  const { store, clock, leaseMs } = parts;
  const sessions = new Map<string, LocalSession>();
  const interrupted: InterruptedRuns = new Map();
  let ending: Promise<void> | null = null;
  const holder = { ...surroundings.createHolder(), ...defined({ address: parts.address }) };
  const keeper = createLeaseKeeper({ store, clock, leaseMs, holder, isDead: surroundings.isDead });
  const place: SessionHost = {
    keeper,
    inboxes: createInboxes(store, clock),
    logs: createWatchedLogs(store),
    sessions,
    sayLate: (sessionId, message) => void sayLate(sessionId, message),
  };

  function live(sessionId: string): LocalSession {
    let found = sessions.get(sessionId);
    if (found === undefined) {
      if (ending !== null) throw shutDownError(parts.name, sessionId);
      found = createLocalSession(sessionId, parts, place);
      sessions.set(sessionId, found);
    }
    return found;
  }

  const itemsOf = itemsFrom(store, live);

  async function sayLate(sessionId: string, message: InboxMessage): Promise<void> {
    try {
      await deliver(live(sessionId), message, { shared: true });
    } catch {
      // After a failure of the store, or a shutdown, the result of the run has reported it.
    }
  }

  function session(sessionId: string): Session {
    checkSessionId(sessionId);
    return createSession(sessionId, parts, {
      live: () => live(sessionId),
      itemsOf,
      isStarting: () => (sessions.get(sessionId)?.operationsUnderWay ?? 0) > 0,
      afterRequests(act) {
        const found = sessions.get(sessionId);
        return found === undefined || found.lastTurn === null ? act() : using(found, () => inTurn(found, act));
      },
      interrupted,
      async leave(graceMs) {
        const found = sessions.get(sessionId);
        if (found !== undefined) await leaveLocalSession(found, graceMs);
      },
      async fork(at, targetId) {
        await forkSession(sessionId, targetId, at, parts, keeper);
        return session(targetId);
      },
      replay: (replayOptions) => replay(sessionId, replayOptions),
    });
  }

  const replay: Assembled["replay"] = (sessionId, replayOptions) =>
    replaySession(sessionId, parts, surroundings.createStore(), replayOptions);

  function shutdown(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkCall.shutdown(options);
    const { graceMs = 5_000 } = options;
    ending ??= shutDown(graceMs);
    return ending;
  }

  async function shutDown(graceMs: number): Promise<void> {
    const compiled = [parts, ...(parts.graph?.compiled() ?? [])];
    const children = compiled.flatMap(({ family }) => [...family.children.values()]);
    await Promise.all([
      ...[...sessions.values()].map((one) => drainLocalSession(one, graceMs)),
      ...children.map((child) => child.shutdown({ graceMs })),
    ]);
    for (const { catchUp } of parts.listeners) catchUp();
  }

  const isShutDown = () => ending !== null;
  return { parts, live, isShutDown, sessions, itemsOf, session, replay, shutdown, interrupted };
}

/** After a shutdown, other processes carry the child's sessions on. */
function childAgent({ parts, live, isShutDown, sessions, itemsOf, session, replay, shutdown }: Assembled): BoundChild {
  return {
    name: parts.name,
    unpriced: unpricedModels(parts),
    unpricedReached: () => unpricedReached(parts),
    limits: parts.limits,
    reaches: (agentName) => reaches(parts, agentName),
    families: (agentName) => familiesOf(parts, agentName),
    sessionInfo: (title) => sessionInfo(parts, title),
    takeUp: async (sessionId) => {
      if (!isShutDown()) await takeUp(live(sessionId));
    },
    letGo: async (sessionId) => {
      const found = sessions.get(sessionId);
      if (found !== undefined) await letGo(found);
    },
    attend: (sessionId, onEnd) => (isShutDown() ? () => {} : attend(live(sessionId), onEnd)),
    items: itemsOf,
    session,
    replay,
    shutdown,
  };
}
