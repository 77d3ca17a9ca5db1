/**
 * What sessions are recorded with, and carried on with: processes that can die, over one store, where time and ids are given.
 */
import { createMemoryStore, type Model, type Store } from "../../src/index.js";
import type { Holder } from "../../src/ports/store.js";
import type { AgentOptions } from "../../src/runtime/api/agent-options.js";
import { type Agent, buildAgent } from "../../src/runtime/api/build-agent.js";
import { createTestClock, settled, type TestClock } from "../../src/testing/test-clock.js";

export type Parts = Pick<
  AgentOptions<Model>,
  | "name"
  | "model"
  | "models"
  | "settings"
  | "compaction"
  | "hooks"
  | "context"
  | "fallbacks"
  | "tools"
  | "handoffs"
  | "params"
  | "systemPrompt"
  | "limits"
  | "retry"
  | "canExecuteTool"
  | "root"
>;

export type Process = {
  readonly agent: Agent<Model>;
  /** From here on it does nothing any more, and nothing that it waits for comes. */
  readonly kill: () => void;
};

export type Bench = {
  readonly store: Store;
  readonly clock: TestClock;
  readonly start: (parts: Parts) => Process;
  /** The next id that Pawl makes. */
  readonly setNextId: (id: string) => void;
  /** Lets everything happen that needs no time. */
  readonly settle: () => Promise<void>;
};

const never = new Promise<never>(() => {});

export function createBench(store: Store, startAt: number): Bench {
  const clock = createTestClock(startAt);
  const dead = new Set<string>();
  const nextIds: string[] = [];
  let ids = 0;
  let processes = 0;

  function start(parts: Parts): Process {
    processes += 1;
    const holder: Holder = { id: `process ${processes}`, host: "recorded", pid: processes, startedAt: startAt };
    const isDead = () => dead.has(holder.id);
    const agent = buildAgent<Model>(
      {
        ...parts,
        store: dying(store, isDead),
        makeId: () => {
          const next = nextIds.shift();
          if (next !== undefined) return next;
          ids += 1;
          return `id${ids}`;
        },
        clock: {
          now: clock.now,
          elapsed: clock.elapsed,
          after: (ms, callback) => clock.after(ms, () => (isDead() ? undefined : callback())),
        },
      },
      {
        asModel: (model) => model,
        contextWindows: {},
        listPrices: { scripted: { input: 1, output: 5 } },
        createStore: createMemoryStore,
        createHolder: () => holder,
        createOutputTools: () => [],
        isDead: ({ id }) => dead.has(id) || !id.startsWith("process"),
      },
    );
    return { agent, kill: () => void dead.add(holder.id) };
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await settled();
  }

  return { store, clock, start, setNextId: (id) => void nextIds.push(id), settle };
}

/** A store as a process sees it that may die: what is under way then does not come back. */
function dying<Part extends object>(part: Part, isDead: () => boolean): Part {
  const operations = Object.entries(part).map(([name, operation]) => [
    name,
    typeof operation === "object" && operation !== null
      ? dying(operation, isDead)
      : (...values: readonly unknown[]) => {
          if (isDead()) return name === "watch" ? () => {} : never;
          const given: unknown = Reflect.apply(operation, part, values);
          return given instanceof Promise ? given.then((value) => (isDead() ? never : value)) : given;
        },
  ]);
  return Object.fromEntries(operations) as Part;
}
