/**
 * Whatever happened to a session, its log replays without a difference: sessions of simulated worlds, by seeds.
 */
import { expect, test } from "vitest";
import { type Agent, createAgent, createMemoryStore, type Store } from "../../src/index.js";
import type { Handoff } from "../../src/runtime/agent/handoffs.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createSeededRandom } from "../../src/testing/world/seeded-random.js";
import { createWorld, type Process } from "../../src/testing/world/world.js";
import { pickSampleCount } from "../support/sample-count.js";
import { seedsInShare } from "../support/share.js";
import { verifies } from "../verifies.js";
import { simulate } from "./simulate.js";
import { drawOwnHabits, drawProfile, noOwnHabits } from "./world/director.js";
import { createFilter, createSource } from "./world/extras.js";
import { agentNameAt, createDelegateTool, createHandoff, twinNameAt } from "./world/family.js";
import { createSteppedTools } from "./world/stepped-tools.js";
import { createPermissions, createTools } from "./world/tools.js";

const { first, seeds } = seedsInShare(
  Number(process.env.PAWL_SEED ?? 1),
  Number(process.env.PAWL_SEEDS ?? pickSampleCount({ quick: 50, long: 200 })),
);

test("sessions of every kind of trouble replay as they were", {
  ...verifies("REC-6#replay"),
  timeout: 300_000,
}, async () => {
  let entries = 0;
  for (let seed = first; seed < first + seeds; seed += 1) {
    const store = createMemoryStore();
    await simulate({ seed, store });
    if ((await store.load("session")) === null) continue;
    // Durable tools run again in each fourth seed: they take their recorded steps, and begin none.
    const durable = seed % 4 === 0 ? "present" : "recorded";
    const replay = await observer(store, seed).session("session").replay({ policy: "recorded", durable });
    expect(replay.difference, `seed ${seed}`).toBeNull();
    entries += replay.entries;
  }
  expect(entries).toBeGreaterThan(seeds * 10);
});

/** The same agents, in a world where nothing happens. */
function observer(store: Store, seed: number) {
  const { habits } = drawProfile(createWorld(createMemoryStore(), createSeededRandom(seed), "session"), noOwnHabits);
  const { family, hasSlowSchemas, extras } = drawOwnHabits(seed);
  const world = { ...createWorld(createMemoryStore(), createSeededRandom(1), "session"), turn: async () => {} };
  const process = { name: "observer" } as Process;
  const bench = { world, ledger: new Map(), process: () => process, hasSlowSchemas };
  const agentAt = (level: number): Agent => {
    const below = level < (family?.depth ?? 0) ? [createDelegateTool(agentAt(level + 1))] : [];
    const build = (name: string, handoffs: readonly Handoff[]): Agent =>
      createAgent({
        model: createScriptedModel([]),
        models: { fast: createScriptedModel([]) },
        settings: { temperature: 0 },
        tools: [...createTools(bench), ...createSteppedTools(bench), ...below],
        canExecuteTool: createPermissions(bench),
        retry: { maxRetries: 3 },
        toolOutput: null,
        compaction: habits.window === null ? null : { contextWindow: habits.window, model: createScriptedModel([]) },
        store,
        name,
        handoffs,
        ...(extras.hasSources ? { context: { sources: [createSource(world, () => process, extras)] } } : {}),
      });
    if (!extras.hasTwins) return build(agentNameAt(level), []);
    const filter = createFilter(world, () => process, extras);
    const agent: Agent = build(agentNameAt(level), [createHandoff(twinNameAt(level), () => twin, filter)]);
    const twin = build(twinNameAt(level), [createHandoff(agentNameAt(level), () => agent, filter)]);
    return agent;
  };
  return agentAt(0);
}
