/**
 * The turns of tools that have steps. While a tool's own code runs, the world waits for it. While Pawl handles a step, the world
 * continues, because the commit of the step needs its own turn.
 */
import type { StepContext, StepOptions, ToolContext } from "../../ports/tool.js";
import { settled } from "../test-clock.js";
import { createStepStarted } from "../world/facts.js";
import type { Process, World } from "../world/world.js";

/** The process that acts, and its world. */
export type ProcessSimulation = { readonly world: World; readonly self: () => Process; readonly patienceMs: number };

export type Attention = {
  /** The world waits for the tool, for at most `patienceMs`, except while Pawl handles its steps. */
  readonly until: <Result>(act: () => Promise<Result>) => Promise<Result>;
  /** Passes a step, a question, a sleep or a wait to Pawl; `take` takes it back. */
  readonly give: () => void;
  readonly take: () => void;
};

/** The number of turns of the event loop that a rerun tool may need until it gets its next recorded result. */
const maxEventLoopTurns = 5;

export function createAttention(world: World, patienceMs: number): Attention {
  let ended: Promise<void> = Promise.resolve();
  let handedOver = 0;
  let release = () => {};

  function watch(): void {
    let timer: NodeJS.Timeout | undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
      timer = setTimeout(resolve, patienceMs);
    });
    void world.include(Promise.race([ended, released])).finally(() => clearTimeout(timer));
  }

  async function waitFewTurns(): Promise<void> {
    for (let turn = 0; turn < maxEventLoopTurns; turn += 1) await settled();
  }

  return {
    until(act) {
      const acting = act();
      ended = acting.then(
        () => {},
        () => {},
      );
      if (handedOver === 0) watch();
      return acting;
    },
    give() {
      handedOver += 1;
      release();
      void world.include(waitFewTurns());
    },
    take() {
      handedOver -= 1;
      if (handedOver === 0) watch();
      else void world.include(waitFewTurns());
    },
  };
}

/** Creates the context of a tool whose steps take turns: one before the function of a step runs, and one after it. */
export function createTurnContext(
  { world, self }: ProcessSimulation,
  tool: string,
  context: ToolContext,
  attention: Attention,
): ToolContext {
  const runInPawl = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    attention.give();
    try {
      return await act();
    } finally {
      attention.take();
    }
  };
  const { sessionId, callKey, attempt } = context;
  const recordStart = ({ idempotencyKey, tries }: StepContext, options: StepOptions) => {
    const identity = {
      sessionId,
      process: self().name,
      callKey,
      attempt,
      step: idempotencyKey.slice(context.idempotencyKey.length + 1),
    };
    world.record(createStepStarted(identity, options, tries));
  };
  const step = (name: string, run: (step: StepContext) => unknown, options: StepOptions = {}) =>
    runInPawl(() =>
      context.step(
        name,
        async (given) => {
          recordStart(given, options);
          await world.turn(self(), `${tool}: ${name} works`, given.signal);
          given.signal.throwIfAborted();
          attention.take();
          try {
            return await run(given);
          } finally {
            attention.give();
            await world.turn(self(), `${tool}: ${name} answers`);
          }
        },
        options,
      ),
    );
  const ask = (question: never) => runInPawl(() => context.ask(question));
  const sleep: ToolContext["sleep"] = (name, options) => runInPawl(() => context.sleep(name, options));
  const waitFor: ToolContext["waitFor"] = (name, options) => runInPawl(() => context.waitFor(name, options));
  // Getters, as in the context itself.
  return Object.create(context, {
    step: { get: () => step, enumerable: true },
    ask: { get: () => ask, enumerable: true },
    sleep: { get: () => sleep, enumerable: true },
    waitFor: { get: () => waitFor, enumerable: true },
  }) as ToolContext;
}
