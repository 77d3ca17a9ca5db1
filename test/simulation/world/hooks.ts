/**
 * Hooks of every kind: they answer at once or later, hang, throw, return rubbish, spoil what they are given, and change what they
 * may. They draw from a chance of their own, so that worlds without hooks stay as they are.
 */

import type { Message } from "../../../src/core/data/message.js";
import type { HookPoint } from "../../../src/core/machine/event.js";
import type { Hook, HookContext, ModelCallSubject } from "../../../src/ports/hook.js";
import { hookPoints } from "../../../src/runtime/agent/compile-hooks.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import type { Process, World } from "../../../src/testing/world/world.js";

/** What the hooks of a world tend to do. */
export type HookHabits = {
  readonly chance: SeededRandom;
  /** Where they are called. */
  readonly points: readonly HookPoint[];
  /** The probability that one fails, in one of many ways. */
  readonly fails: number;
  /** The probability that one changes what it may. */
  readonly changes: number;
};

/** A third of the worlds have hooks. */
export function drawHookHabits(chance: SeededRandom): HookHabits | null {
  if (!chance.happens(1 / 3)) return null;
  return {
    chance,
    points: hookPoints.filter(() => chance.happens(0.4)),
    fails: chance.pick([0, 0.05, 0.3]),
    changes: chance.pick([0, 0.1, 0.3]),
  };
}

/** Two hooks of a process, at the same points; the failures of the second block nothing. */
export function createHooks(world: World, process: () => Process, habits: HookHabits): readonly Hook[] {
  const createHook = (name: string, overrides: Pick<Hook, "onFailure">): Hook => {
    const hook: { -readonly [Key in keyof Hook]: Hook[Key] } = { name, timeoutMs: 500, ...overrides };
    for (const point of habits.points)
      hook[point] = ((subject: object, { sessionId }: HookContext) =>
        runHook({ point, subject, sessionId, world, process }, habits)) as never;
    return hook;
  };
  return [createHook("first", {}), createHook("second", { onFailure: "open" })];
}

/** A call of a hook: where, about what, in which session. */
type HookCall = {
  readonly point: HookPoint;
  readonly subject: object;
  readonly sessionId: string;
  readonly world: World;
  readonly process: () => Process;
};

type Misdeed = (call: HookCall) => unknown;

const misdeeds: readonly Misdeed[] = [
  () => {
    throw new Error("a hook broke");
  },
  () => Promise.reject(undefined),
  () => new Promise(() => {}),
  () => "rubbish",
  async () => ({ input: 1, block: 2 }),
  ({ subject }) => {
    (subject as { spoilt?: boolean }).spoilt = true;
  },
  // Its time may be over by then.
  ({ world, process }) => world.turn(process(), "slow tool"),
];

function runHook(call: HookCall, { chance, fails, changes }: HookHabits): unknown {
  const { world, process } = call;
  if (chance.happens(fails)) return chance.pick(misdeeds)(call);
  const answer = chance.happens(changes) ? drawChange(call, chance) : undefined;
  return chance.happens(0.7) ? answer : world.turn(process(), "hook").then(() => answer);
}

/** A note, which may be too long for its entry, in front of the newest messages; nothing if a provider paused. */
function replaceMessages(
  messages: readonly Message[],
  n: number,
  chance: SeededRandom,
): readonly Message[] | undefined {
  if (messages.at(-1)?.role === "assistant") return undefined;
  const starts = messages.flatMap(({ role }, index) => (role === "tool" ? [] : [index]));
  const from = chance.pick(starts.length === 0 ? [0] : starts);
  const text = `note ${n % 4} `.repeat(chance.pick([1, 400]));
  return [{ role: "user", parts: [{ type: "text", text }] }, ...messages.slice(from)];
}

/** What a hook may change there, by chance. */
function drawChange({ point, subject, sessionId, world, process }: HookCall, chance: SeededRandom): unknown {
  const n = world.nextNumber();
  switch (point) {
    case "beforeRun":
      return chance.happens(0.3) ? { refuse: `refused ${n}` } : { input: `changed ${n}` };
    case "beforeLLMCall":
      return chance.pick<unknown>([
        { systemPrompt: `prompt ${n}` },
        { activeTools: ["look", "keyed", "guarded"] },
        { toolChoice: "none" },
        { providerOptions: { p: { n } } },
        { model: "fast" },
        { settings: { seed: n % 3 } },
        { messages: replaceMessages((subject as ModelCallSubject).messages, n, chance) },
      ]);
    case "beforeToolCall":
      return chance.pick<unknown>([
        { block: `blocked ${n}` },
        { stop: `stopped ${n}` },
        { input: { n } },
        { input: { n: "none" } },
      ]);
    case "afterToolCall": {
      const { callKey } = subject as { readonly callKey: string };
      const output = `masked ${n}`;
      const shown = { type: "text", text: output } as const;
      world.record({ type: "tool_settled", sessionId, process: process().name, callKey, output: shown });
      return { output };
    }
    case "beforeStop":
      return chance.happens(0.2) ? { refuse: `refused ${n}` } : { message: `go on ${n}` };
    case "onError":
      return chance.pick(["retry", "giveUp"]);
    case "besideLLMCall":
      return chance.happens(0.2) ? { trip: `tripped ${n}` } : undefined;
    case "beforeCompaction":
      return chance.happens(0.5) ? { skip: `skipped ${n}` } : { keep: `keep ${n}` };
    case "beforeStep":
    case "afterLLMCall":
    case "afterStep":
    case "onCompacted":
    case "afterRun":
      return undefined;
  }
}
