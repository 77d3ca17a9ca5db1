/**
 * Reference scenarios, crashed everywhere: at every wait, which includes the moments before and after each commit, and at
 * every pair of commits. However often a process dies, the end is the one without crashes, but for what its tools cannot know.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMemoryStore, type Store } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite.js";
import { onceOnly } from "../../src/testing/simulation/tools.js";
import { verifies } from "../verifies.js";
import { type Ending, type PlayOptions, play } from "./crashes.js";
import { type Scenario, scenarios } from "./reference.js";

type Opened = { readonly store: Store; readonly close: () => Promise<void> };

const stores = {
  async memory(): Promise<Opened> {
    const store = createMemoryStore();
    return { store, close: store.close };
  },
  async SQLite(): Promise<Opened> {
    const folder = mkdtempSync(join(tmpdir(), "pawl-crashes-"));
    const store = await openSqliteStore({
      path: join(folder, "sessions.db"),
      synchronous: "normal",
      pollMs: 2_000_000_000,
    });
    return {
      store,
      async close() {
        await store.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
};

const proven = {
  ...verifies("REC-1", "REC-3", "REC-8", "TOOL-5", "TOOL-6", "RTRY-3", "LOOP-8#one-process"),
  timeout: 600_000,
};

describe.each(["memory", "SQLite"] as const)("in %s", (name) => {
  test.each(scenarios)("$name: a crash at every wait", proven, async (scenario) => {
    await inStore(name, async (at) => {
      const clean = await at(scenario, [], "waits");
      for (let point = 1; point <= clean.points; point += 1)
        expectSameEnd(await at(scenario, [point], "waits"), clean, `${point}`);
      console.log(`${name}, ${scenario.name}: ${clean.points} waits`);
    });
  });

  test.each(scenarios)("$name: every pair of crashes around commits", proven, async (scenario) => {
    await inStore(name, async (at) => {
      const clean = await at(scenario, [], "commits");
      let pairs = 0;
      for (let first = 1; first <= clean.points; first += 1) {
        let last = first + 1;
        for (let second = first + 1; second <= last; second += 1) {
          const ending = await at(scenario, [first, second], "commits");
          expectSameEnd(ending, clean, `${first} and ${second}`);
          last = ending.points;
          pairs += 1;
        }
      }
      console.log(`${name}, ${scenario.name}: ${clean.points / 2} commits, ${pairs} pairs of crashes`);
    });
  });
});

type At = (scenario: Scenario, dies: readonly number[], points: PlayOptions["points"]) => Promise<Ending>;

async function inStore(name: keyof typeof stores, act: (at: At) => Promise<void>): Promise<void> {
  const { store, close } = await stores[name]();
  let sessions = 0;
  try {
    await act((scenario, dies, points) => {
      sessions += 1;
      const sameHost = dies.length % 2 === sessions % 2;
      return play(scenario, { store, sessionId: `session ${sessions}`, dies, points, sameHost });
    });
  } finally {
    await close();
  }
}

/** What was told is the same; a call that may run only once may be in doubt, and took effect once where it is not. */
function expectSameEnd(ending: Ending, clean: Ending, where: string): void {
  expect(ending.told, where).toEqual(clean.told);
  expect(ending.inputs, where).toEqual(clean.inputs);
  expect([...ending.outcomes.keys()].sort(), where).toEqual([...clean.outcomes.keys()].sort());
  for (const [callKey, { tool, outcome }] of ending.outcomes) {
    const expected = clean.outcomes.get(callKey)?.outcome;
    const acts = ending.acts.get(callKey) ?? 0;
    const inDoubt = onceOnly.has(tool) || expected === "aborted" || expected === "error";
    if (inDoubt) expect(["interrupted", "aborted", expected], `${where}: ${callKey} ${tool}`).toContain(outcome);
    else expect(outcome, `${where}: ${callKey} ${tool}`).toBe(expected);
    if (onceOnly.has(tool)) expect(acts, `${where}: ${callKey} ${tool}`).toBeLessThanOrEqual(1);
    if (outcome === "ok" && tool !== "outside") expect(acts, `${where}: ${callKey} ${tool}`).toBeGreaterThanOrEqual(1);
  }
}
