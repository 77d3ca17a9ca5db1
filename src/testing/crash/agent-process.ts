/**
 * Runs a user's agent as a process of a simulated world. The world provides the store, the clock and the ids. The model and the
 * tools really run, each in its turn, one at a time.
 *
 * 1. While a model or a tool waits for something real (a request, a file), the world also waits, and its clock stands still. The
 *    same applies to other code of the author: hooks, context sources, policies.
 * 2. After `patienceMs` the world stops waiting and its clock continues, so that timeouts and aborts take effect.
 * 3. When a process dies, work that is under way outside the world runs to its end, like a request that was already sent.
 */
import { defined } from "../../core/data/defined.js";
import type { Agent, AgentOptions, AnyModel } from "../../create-agent.js";
import { asModel } from "../../models/ai-sdk/adapter.js";
import type { Model } from "../../ports/model.js";
import type { Holder, Store } from "../../ports/store.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import { type Fallback, isFallback } from "../../runtime/model/models.js";
import { normaliseTools } from "../../runtime/tools/compile-tools.js";
import { addProcess, isKilled, leaseMs } from "../world/processes.js";
import { createProcessStore } from "../world/store.js";
import { createProcessClock, type Process, type World } from "../world/world.js";
import { createAttention, createTurnContext, type ProcessSimulation } from "./step-turns.js";

export type AgentProcessOptions = {
  readonly agent: Agent;
  /** Whether the next process can see that this one is dead. */
  readonly sameHost: boolean;
  readonly patienceMs: number;
};

export function startAgent(world: World, { agent, sameHost, patienceMs }: AgentProcessOptions): Process {
  return addProcess(world, (self, { holder, name }) => {
    const { options } = agent;
    const simulation: ProcessSimulation = { world, self, patienceMs };
    return wrapAgent(simulation, agent, new Map(), {
      store: createOwnedStore(createProcessStore(world, self), holder, (other) => sameHost && isKilled(world, other)),
      clock: createProcessClock(world, self),
      makeId: () => `id${world.nextNumber()}`,
      leaseMs,
      observers: [
        ...(options.observers ?? []),
        { onDelta: (delta) => world.record({ type: "delta", sessionId: world.sessionId, process: name, delta }) },
      ],
    });
  });
}

/** Wraps the agent, and all agents that it can hand its session over to, so that models and tools take turns in the world. */
function wrapAgent(
  simulation: ProcessSimulation,
  agent: Agent,
  wrappedAgents: Map<object, Agent>,
  changes: Partial<AgentOptions>,
): Agent {
  const existing = wrappedAgents.get(agent);
  if (existing !== undefined) return existing;
  const { model, models, fallbacks, compaction, tools = [], handoffs } = agent.options;
  const wrappedAgent = agent.with({
    ...changes,
    ...wrapAuthorCode(simulation, agent.options),
    model: wrapModel(simulation, model),
    ...defined({
      models:
        models &&
        Object.fromEntries(Object.entries(models).map(([name, one]) => [name, wrapFallback(simulation, one)])),
      fallbacks: fallbacks?.map((one) => wrapFallback(simulation, one)),
      compaction: compaction?.model && { ...compaction, model: wrapModel(simulation, compaction.model) },
      handoffs: handoffs?.map((handoff) => ({
        ...handoff,
        agent: () => wrapAgent(simulation, handoff.agent() as Agent, wrappedAgents, {}),
      })),
    }),
    tools: [...normaliseTools(tools).values()].map(({ tool }) => wrapTool(simulation, tool)),
  });
  wrappedAgents.set(agent, wrappedAgent);
  return wrappedAgent;
}

/** Wraps the author's code other than models and tools, so that the world waits while this code waits. */
function wrapAuthorCode(
  simulation: ProcessSimulation,
  { canExecuteTool, repairToolCall, hooks, stopWhen, context, services }: AgentOptions,
): Partial<AgentOptions> {
  const wrap = <Act>(act: Act): Act => wrapFunction(simulation, act);
  return defined({
    canExecuteTool: wrap(canExecuteTool),
    repairToolCall: wrap(repairToolCall),
    hooks: hooks?.map((hook) => mapMethods(hook, wrap)),
    stopWhen: Array.isArray(stopWhen) ? stopWhen.map(wrap) : wrap(stopWhen),
    context: context?.sources && {
      ...context,
      sources: context.sources.map(({ tools, ...source }) => ({
        ...mapMethods(source, wrap),
        ...defined({ tools: tools?.map((tool) => wrapTool(simulation, tool)) }),
      })),
    },
    services:
      services &&
      Object.fromEntries(
        Object.entries(services).map(([name, service]) => [name, service && mapMethods(service, wrap)]),
      ),
  });
}

/** Copies an author's object, keeping its class, with its own functions wrapped. */
function mapMethods<Owner extends object>(owner: Owner, change: <Act>(act: Act) => Act): Owner {
  const copy = Object.create(Object.getPrototypeOf(owner)) as Owner;
  const members = Object.entries(owner).map(([name, member]: [string, unknown]) => [
    name,
    typeof member === "function" ? change(member.bind(owner)) : member,
  ]);
  return Object.assign(copy, Object.fromEntries(members));
}

/**
 * Wraps a function of the author. If it returns a promise, the world waits for it. A synchronous result is passed on unchanged,
 * because it joins the current commit.
 */
function wrapFunction<Act>({ world, patienceMs }: ProcessSimulation, act: Act): Act {
  if (typeof act !== "function") return act;
  const wrapped = (...given: readonly unknown[]): unknown => {
    const result: unknown = act(...given);
    return result instanceof Promise ? runOutside(world, patienceMs, () => result) : result;
  };
  // A stop condition is identified by the name of its function.
  return Object.defineProperty(wrapped, "name", { value: act.name }) as Act;
}

/** Claims leases for the simulated process instead of the real one, which holds all processes of the world. */
function createOwnedStore(store: Store, holder: Holder, isDead: (other: Holder) => boolean): Store {
  return {
    ...store,
    claim: (sessionId, options) =>
      store.claim(sessionId, { ...options, holder, isDead: (other) => other.id === holder.id || isDead(other) }),
    due: (now, limit) => store.due(now, limit, isDead),
  };
}

function wrapFallback(simulation: ProcessSimulation, next: AnyModel | Fallback<AnyModel>): Model | Fallback {
  return isFallback(next) ? { ...next, model: wrapModel(simulation, next.model) } : wrapModel(simulation, next);
}

function wrapModel({ world, self, patienceMs }: ProcessSimulation, modelLike: AnyModel): Model {
  const model = asModel(modelLike);
  return {
    ...model,
    async *stream(request, signal) {
      const { sessionId, runId } = request;
      const process = self().name;
      world.record(
        request.purpose === "compaction"
          ? { type: "summary_asked", sessionId, process, runId }
          : { type: "model_called", sessionId, process, request: { ...request, messages: [...request.messages] } },
      );
      await world.turn(self(), "model", signal);
      const deltas = model.stream(request, signal)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await runOutside(world, patienceMs, () => deltas.next());
          if (next.done === true) return;
          yield next.value;
        }
      } finally {
        await deltas.return?.();
      }
    },
  };
}

function wrapTool(simulation: ProcessSimulation, tool: AnyTool): AnyTool {
  const { execute, executeRaw, recover, needsApproval } = tool;
  return {
    ...tool,
    ...(typeof needsApproval === "function" ? { needsApproval: wrapFunction(simulation, needsApproval) } : {}),
    ...(execute === undefined
      ? {}
      : {
          execute: (input: unknown, context: ToolContext) =>
            runInTurns(simulation, tool.name, input, context, (given) => execute(input, given)),
        }),
    ...(executeRaw === undefined
      ? {}
      : {
          executeRaw: (text: string, context: ToolContext) =>
            runInTurns(simulation, tool.name, text, context, (given) => executeRaw(text, given)),
        }),
    ...(typeof recover === "object"
      ? {
          recover: {
            reconcile: async (call: Parameters<typeof recover.reconcile>[0]) => {
              await simulation.world.turn(simulation.self(), `${tool.name} reconciles`, call.signal);
              return await runOutside(simulation.world, simulation.patienceMs, async () => recover.reconcile(call));
            },
          },
        }
      : {}),
  };
}

/** Takes a turn before the tool starts, and another before the process gets its result. */
async function runInTurns<Output>(
  { world, self, patienceMs }: ProcessSimulation,
  tool: string,
  input: unknown,
  context: ToolContext,
  execute: (context: ToolContext) => Output | Promise<Output>,
): Promise<Output> {
  const { callKey, attempt, sessionId, signal } = context;
  world.record({ type: "tool_started", sessionId, process: self().name, callKey, tool, attempt, input });
  await world.turn(self(), `${tool} works`, signal);
  signal.throwIfAborted();
  const attention = createAttention(world, patienceMs);
  const given = createTurnContext({ world, self, patienceMs }, tool, context, attention);
  try {
    return await attention.until(async () => execute(given));
  } finally {
    await world.turn(self(), `${tool} answers`);
  }
}

/** Runs real work outside the world. The world waits for it, for at most `patienceMs`. */
function runOutside<Result>(world: World, patienceMs: number, act: () => Promise<Result>): Promise<Result> {
  const running = act();
  let timer: NodeJS.Timeout | undefined;
  const patienceTimeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  const ended = running.then(
    () => {},
    () => {},
  );
  void world.include(Promise.race([ended, patienceTimeout])).finally(() => clearTimeout(timer));
  return running;
}
