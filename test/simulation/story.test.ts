/**
 * The story of a failure shows what it is about, however much happened before and after.
 */
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { createSeededRandom } from "../../src/testing/world/seeded-random.js";
import { formatStory } from "../../src/testing/world/story.js";
import { createWorld, type World } from "../../src/testing/world/world.js";
import { verifies } from "../verifies.js";

/** A process takes over, is stopped, and calls a tool after all; before, between and after that, people ask. */
function tell(): World {
  const world = createWorld(createMemoryStore(), createSeededRandom(1), "session");
  const chatter = (count: number) => {
    for (let id = 0; id < count; id += 1) world.record({ type: "asked", process: "p1", id, what: "answer" });
  };
  const { sessionId } = world;
  world.record({ type: "process", process: "p3", what: "started" });
  world.record({ type: "holding", sessionId, process: "p3", epoch: 2, askedAt: 0, setting: 0 });
  chatter(100);
  world.record({ type: "process", process: "p3", what: "stopped" });
  world.record({ type: "claimed", sessionId, process: "p4", epoch: 3, late: false, setting: 0 });
  chatter(100);
  world.record({ type: "tool_started", sessionId, process: "p3", callKey: "r/1/1", tool: "pay", attempt: 1, input: 5 });
  chatter(200);
  return world;
}

describe("the story of a failure", () => {
  const proven = verifies("REC-7");

  test("shows the fact that it is about, marked, with what came before and after", proven, () => {
    const { facts } = tell();
    const about = facts.findIndex(({ type }) => type === "tool_started");
    const lines = formatStory(facts, { lines: 30, about }).split("\n");
    const marked = lines.findIndex((line) => line.startsWith("→"));
    expect(lines[marked]).toContain("p3 runs pay r/1/1");
    expect(lines[marked - 1]).toContain("request to p1");
    expect(lines[marked + 1]).toContain("request to p1");
    expect(lines.at(-1)).toMatch(/^… \d+ after$/);
  });

  test("shows what befell the process of that fact long before", proven, () => {
    const { facts } = tell();
    const about = facts.findIndex(({ type }) => type === "tool_started");
    const [first, second, third, fourth] = formatStory(facts, { lines: 30, about }).split("\n");
    expect([first, second, third]).toEqual([
      expect.stringContaining("p3 started"),
      expect.stringContaining("p3 holds epoch 2"),
      expect.stringContaining("p3 stopped"),
    ]);
    expect(fourth).toMatch(/^… \d+ before$/);
  });

  test("is that of the end if it is about no fact", proven, () => {
    const { facts } = tell();
    const lines = formatStory(facts, { lines: 30, about: null }).split("\n");
    expect(lines).toHaveLength(31);
    expect(lines.at(-1)).toContain(`${facts.length - 1} request to p1`);
  });
});
