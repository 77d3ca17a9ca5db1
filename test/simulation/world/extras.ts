/**
 * What some agents have beside models, tools and hooks: texts from outside, a guard, somebody who mends calls.
 */

import type { Message } from "../../../src/core/data/message.js";
import type { ContextSource } from "../../../src/ports/context.js";
import type { Hook } from "../../../src/ports/hook.js";
import type { RepairToolCall } from "../../../src/ports/repair.js";
import type { Handoff } from "../../../src/runtime/agent/handoffs.js";
import { guard } from "../../../src/runtime/hooks/guard.js";
import { formatAttempt } from "../../../src/testing/world/message-parts.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import type { Process, World } from "../../../src/testing/world/world.js";

/** Each is drawn by itself, and most worlds have none of them. */
export type Extras = {
  readonly chance: SeededRandom;
  /** Agents hand their sessions over to each other. */
  readonly hasTwins: boolean;
  /** What the next agent is shown; a chance: what it says in each case. */
  readonly filter: "all" | "text" | "last_turn" | SeededRandom;
  readonly hasSources: boolean;
  readonly guard: { readonly hold: boolean; readonly trips: number; readonly fails: number } | null;
  /** The probability that a model makes a slip that can be mended; 0: never, and nobody mends anything of his own. */
  readonly slips: number;
  /** Sessions may begin with a conversation from elsewhere. */
  readonly isSeeded: boolean;
  /** Who steers may skip calls. */
  readonly skips: boolean;
  /** Tools that models pick from, beside the others. */
  readonly tools: readonly string[];
};

/** @param filters a chance of its own */
export function drawExtras(chance: SeededRandom, filters: SeededRandom): Extras {
  return {
    chance,
    filter: filters.pick(["all", "text", "last_turn", filters, filters]),
    hasTwins: chance.happens(0.15),
    hasSources: chance.happens(0.15),
    guard: chance.happens(0.1)
      ? { hold: chance.happens(0.5), trips: chance.pick([0, 0.1]), fails: chance.pick([0, 0.1]) }
      : null,
    slips: chance.happens(0.15) ? 0.15 : 0,
    isSeeded: chance.happens(0.15),
    skips: chance.happens(0.3),
    tools: chance.happens(0.15) ? ["flowing", "flowing"] : [],
  };
}

export const noExtras: Omit<Extras, "chance"> = {
  hasTwins: false,
  filter: "all",
  hasSources: false,
  guard: null,
  slips: 0,
  isSeeded: false,
  skips: false,
  tools: [],
};

/** A text that is another one each time it is loaded. Now and then it cannot be loaded. */
export function createSource(world: World, process: () => Process, { chance }: Extras): ContextSource {
  return {
    name: "notes",
    async load() {
      if (chance.happens(0.5)) await world.turn(process(), "source");
      if (chance.happens(0.02)) throw new Error("the notes are gone");
      return [{ name: "notes", path: "notes.md", text: `notes ${world.nextNumber()}`, trust: "user" }];
    },
  };
}

/** Looks at each whole answer, and takes its time. */
export function createGuard(world: World, process: () => Process, { chance, guard: habits }: Extras): readonly Hook[] {
  if (habits === null) return [];
  const { hold, trips, fails } = habits;
  return [
    guard({
      name: "guard",
      every: "step",
      hold,
      timeoutMs: 500,
      async output({ modelCallIndex, attempt, isComplete }, { sessionId, runId }) {
        if (chance.happens(0.6)) await world.turn(process(), "guard");
        if (chance.happens(fails)) throw new Error("the guard broke");
        const passes = !chance.happens(trips);
        const attemptKey = formatAttempt({ runId, modelCallIndex, attempt });
        if (isComplete)
          world.record({ type: "guard_said", sessionId, process: process().name, attempt: attemptKey, passes });
        return passes ? undefined : { trip: "not to be said" };
      },
    }),
  ];
}

/** Mends some calls that nobody else could. */
export function createRepair(world: World, process: () => Process, { chance }: Extras): RepairToolCall {
  return async ({ problem }) => {
    if (chance.happens(0.5)) await world.turn(process(), "repair");
    if (chance.happens(0.1)) throw new Error("nobody can mend this");
    if (problem.kind === "unknown_tool") return chance.pick([{ name: "look" }, null, { name: "nothing" }]);
    return chance.pick([{ input: { n: world.nextNumber() } }, null, { input: { n: "none" } }]);
  };
}

/** Leaves turns out and says words of people in others. Now and then it fails. */
export function createFilter(world: World, process: () => Process, { filter }: Extras): Handoff["filter"] {
  if (typeof filter === "string") return filter;
  return async ({ messages }) => {
    if (filter.happens(0.5)) await world.turn(process(), "filter");
    if (filter.happens(0.03)) throw new Error("the filter broke");
    const createUserMessage = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
    const list: Message[] = filter.happens(0.3) ? [createUserMessage("in front")] : [];
    const last = messages.findLastIndex(({ role }) => role === "assistant");
    for (const [index, message] of messages.entries()) {
      if (message.role === "tool") continue;
      const results = messages[index + 1];
      if (index < last && filter.happens(0.3)) continue;
      list.push(message.role === "user" && filter.happens(0.3) ? createUserMessage("in other words") : message);
      if (message.role === "assistant" && results?.role === "tool") list.push(results);
    }
    return list;
  };
}
