/**
 * An agent: a model, tools and rules, ready to run. It is handed everything and registers nothing (LOOP-1).
 */
import type { RunResult } from "../core/outcome.js";
import type { Clock, MakeId } from "../ports/clock.js";
import type { Model } from "../ports/model.js";
import type { RetryOptions, RetryPolicy } from "../ports/retry.js";
import type { Owner, Store } from "../ports/store.js";
import type { CanExecuteTool } from "../ports/tool.js";
import { createIterator, type View } from "./iterate.js";
import { createLeaseKeeper } from "./lease-keeper.js";
import { type Callbacks, callBack, type Observer, observe } from "./listeners.js";
import { createLive, type Live } from "./live.js";
import { type AgentParts, compileLimits, compileRetry, compileTools, type Limits } from "./parts.js";
import type { Input, StartOptions } from "./request.js";
import { createSession, inputBody, type Session } from "./session.js";
import type { StreamItem, Subscription } from "./subscription.js";
import { makeRandomId, systemClock } from "./timers.js";
import type { Tools } from "./tools.js";

export type AgentOptions<ModelLike = Model> = Callbacks & {
  /** Sessions belong to the agent of this name; "agent" unless given. */
  readonly name?: string;
  /** Any AI SDK language model (specification v3 or v4), or a `Model` of your own. */
  readonly model: ModelLike;
  readonly tools?: Tools;
  readonly systemPrompt?: string;
  readonly limits?: Limits;
  /** A policy, or changes to the default one. */
  readonly retry?: RetryOptions | RetryPolicy;
  /** Says whether a call may run: allow, ask or deny. All is allowed unless given. */
  readonly canExecuteTool?: CanExecuteTool;
  /** What tools get as `context.deps`. */
  readonly deps?: unknown;
  readonly observers?: readonly Observer[];
  /** The folder that the agent works in; a session is bound to it. */
  readonly root?: string;
  /** In memory unless given. */
  readonly store?: Store;
  /** Real time, unless a test owns it. */
  readonly clock?: Clock;
  readonly makeId?: MakeId;
  /** How long a lease lasts without a sign of life; 15 s. */
  readonly leaseMs?: number;
};

/** A run, as a stream of what happens. Leaving the loop detaches; it does not cancel. */
export type RunStream = AsyncIterable<StreamItem> & {
  readonly sessionId: string;
  readonly runId: string;
  readonly result: Promise<RunResult>;
};

export type Agent<ModelLike = Model> = {
  /** What the agent was made of. */
  readonly options: AgentOptions<ModelLike>;
  /** Runs a request to its end, or to where it waits. What fails inside is in the result; only misuse throws. */
  readonly run: (input: Input, options?: StartOptions) => Promise<RunResult>;
  /** The same, with everything that happens on the way. */
  readonly runStream: (input: Input, options?: StartOptions) => RunStream;
  /** The same, a frozen view after each step, after each error and at the end. */
  readonly iterate: (input: Input, options?: StartOptions) => AsyncGenerator<View, RunResult, undefined>;
  readonly session: (sessionId: string) => Session;
  /** A new agent with other parts; this one stays as it is. */
  readonly with: (changes: Partial<AgentOptions<ModelLike>>) => Agent<ModelLike>;
  /** Starts nothing more, waits for what runs, and gives its sessions back. What is cut off is `interrupted` and can be resumed. */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** What an agent is given where its author leaves it out. */
export type Surroundings<ModelLike> = {
  readonly asModel: (model: ModelLike) => Model;
  readonly createStore: () => Store;
  readonly createOwner: () => Owner;
  readonly isDead: (owner: Owner) => boolean;
};

/** @throws PawlError `bad_configuration`, `duplicate_tool` */
export function buildAgent<ModelLike>(
  options: AgentOptions<ModelLike>,
  surroundings: Surroundings<ModelLike>,
): Agent<ModelLike> {
  const parts = compileParts(options, surroundings);
  const { store, clock, leaseMs } = parts;
  const lives = new Map<string, Live>();
  const keeper = createLeaseKeeper({
    store,
    clock,
    leaseMs,
    owner: surroundings.createOwner(),
    isDead: surroundings.isDead,
  });

  function live(sessionId: string): Live {
    let found = lives.get(sessionId);
    if (found === undefined) {
      found = createLive(sessionId, parts, keeper, () => lives.delete(sessionId));
      lives.set(sessionId, found);
    }
    return found;
  }

  const session = (sessionId: string) => createSession(sessionId, parts, () => live(sessionId));
  const start = (input: Input, startOptions: StartOptions) => startRun(input, startOptions, parts, live);

  return {
    options,
    run: async (input, startOptions = {}) => start(input, startOptions).begin(),
    runStream(input, startOptions = {}) {
      const { sessionId, runId, begin } = start(input, startOptions);
      const subscription = live(sessionId).subscribe({ runId });
      const result = begin(subscription).finally(subscription.end);
      result.catch(() => {});
      const items = subscription.items();
      return { sessionId, runId, result, [Symbol.asyncIterator]: () => items };
    },
    iterate(input, startOptions = {}) {
      const { sessionId, runId, begin } = start(input, startOptions);
      return createIterator(() => live(sessionId), runId, begin);
    },
    session,
    with: (changes) => buildAgent({ ...options, ...changes }, surroundings),
    async shutdown({ graceMs = 5_000 } = {}) {
      await Promise.all([...lives.values()].map((one) => one.drain(graceMs)));
    },
  };
}

function startRun(input: Input, options: StartOptions, parts: AgentParts, live: (sessionId: string) => Live) {
  const { signal, sessionId = parts.makeId(), runId = parts.makeId() } = options;
  const body = inputBody(input, options, parts, runId, "queue");
  const shared = options.runId !== undefined;
  const begin = (subscription?: Subscription): Promise<RunResult> => {
    const message = { id: `run/${runId}`, at: parts.clock.now(), body };
    return live(sessionId).run(runId, message, {
      shared,
      ...(signal === undefined ? {} : { signal }),
      ...(subscription === undefined ? {} : { subscription }),
    });
  };
  return { sessionId, runId, begin };
}

function compileParts<ModelLike>(options: AgentOptions<ModelLike>, surroundings: Surroundings<ModelLike>): AgentParts {
  const { name = "agent", tools = [], limits = {}, observers = [], leaseMs = 15_000 } = options;
  return {
    name,
    model: surroundings.asModel(options.model),
    ...(options.systemPrompt === undefined ? {} : { systemPrompt: options.systemPrompt }),
    ...compileTools(tools),
    limits: compileLimits(limits),
    retry: compileRetry(options.retry),
    ...(options.canExecuteTool === undefined ? {} : { canExecuteTool: options.canExecuteTool }),
    deps: options.deps,
    ...(options.root === undefined ? {} : { root: options.root }),
    store: options.store ?? surroundings.createStore(),
    clock: options.clock ?? systemClock,
    makeId: options.makeId ?? makeRandomId,
    leaseMs,
    listeners: [callBack(options), ...observers.map(observe)],
  };
}
