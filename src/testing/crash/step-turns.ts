/**
 * The turns of tools that have steps. While a tool's own code runs, the world waits for it. While a step is in Pawl's
 * hands, the world goes on: the commit of the step needs a turn of its own.
 */
import type { StepContext, StepOptions, ToolContext } from "../../ports/tool.js";
import { settled } from "../test-clock.js";
import { stepStarted } from "../world/facts.js";
import type { Process, World } from "../world/world.js";

type CrashPoint = { readonly world: World; readonly self: () => Process; readonly patienceMs: number };

export type Attention = {
  /** The world waits for the tool, for `patienceMs` at most, unless its steps are in Pawl's hands. */
  readonly until: <Result>(act: () => Promise<Result>) => Promise<Result>;
  /** A step, or a question, is in Pawl's hands from now on, or no more. */
  readonly give: () => void;
  readonly take: () => void;
};

/** Turns of the event loop that a tool which runs again may need until it gets its next recorded result. */
const turnsOfEventLoop = 5;

export function createAttention(world: World, patienceMs: number): Attention {
  let ended: Promise<void> = Promise.resolve();
  let inHand = 0;
  let release = () => {};

  function watch(): void {
    let timer: NodeJS.Timeout | undefined;
    const moved = new Promise<void>((resolve) => {
      release = resolve;
      timer = setTimeout(resolve, patienceMs);
    });
    void world.include(Promise.race([ended, moved])).finally(() => clearTimeout(timer));
  }

  async function fewTurns(): Promise<void> {
    for (let turn = 0; turn < turnsOfEventLoop; turn += 1) await settled();
  }

  return {
    until(act) {
      const acting = act();
      ended = acting.then(
        () => {},
        () => {},
      );
      if (inHand === 0) watch();
      return acting;
    },
    give() {
      inHand += 1;
      release();
      void world.include(fewTurns());
    },
    take() {
      inHand -= 1;
      if (inHand === 0) watch();
      else void world.include(fewTurns());
    },
  };
}

/** The context of a tool whose steps take turns: one before the function of a step runs, and one after it. */
export function inTurnsOf(
  { world, self }: CrashPoint,
  tool: string,
  context: ToolContext,
  attention: Attention,
): ToolContext {
  const inPawlsHands = async <Result>(act: () => Promise<Result>): Promise<Result> => {
    attention.give();
    try {
      return await act();
    } finally {
      attention.take();
    }
  };
  const { sessionId, idempotencyKey: callKey, attempt } = context;
  const noteStart = ({ idempotencyKey, tries }: StepContext, options: StepOptions) => {
    const place = { sessionId, process: self().name, callKey, attempt, step: idempotencyKey.slice(callKey.length + 1) };
    world.note(stepStarted(place, options, tries));
  };
  const step = (name: string, run: (step: StepContext) => unknown, options: StepOptions = {}) =>
    inPawlsHands(() =>
      context.step(
        name,
        async (given) => {
          noteStart(given, options);
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
  const ask = (question: never) => inPawlsHands(() => context.ask(question));
  // Made when they are first read, as in the context itself.
  return Object.create(context, {
    step: { get: () => step, enumerable: true },
    ask: { get: () => ask, enumerable: true },
  }) as ToolContext;
}
