import { describe, expect, test } from "vitest";
import { createAgent, type StreamItem } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { collect, filterEvents } from "../support/agents.js";

describe("the events of a session", () => {
  test("a signal ends them, once what had come was given", async () => {
    const agent = createAgent({ model: createScriptedModel([{ text: "Hello." }]) });
    const over = new AbortController();
    const seen: StreamItem[] = [];
    const all = (async () => {
      for await (const item of agent.session("s").events({ signal: over.signal })) seen.push(item);
    })();
    const result = await agent.run("hi", { sessionId: "s" });
    over.abort();
    await all;
    expect(result.status).toBe("completed");
    expect(seen.at(-1)?.type).toBe("final");
  });

  test("a signal that was aborted before gives what the log has", async () => {
    const agent = createAgent({ model: createScriptedModel([{ text: "Hello." }]) });
    await agent.run("hi", { sessionId: "s" });
    const types: string[] = [];
    for await (const item of agent.session("s").events({ signal: AbortSignal.abort() })) types.push(item.type);
    expect(types).toContain("final");
  });

  test("a consumer whose cursor is beyond the end of the log hides nothing from another one", async () => {
    const agent = createAgent({ model: createScriptedModel([{ text: "One." }, { text: "Two." }]) });
    const { runId: first } = await agent.run("hi", { sessionId: "s" });
    const beyond = collect(agent.session("s").events({ after: 1_000_000 }));
    const ends: string[] = [];
    const listening = (async () => {
      for await (const item of agent.session("s").events()) {
        if (item.type === "final") ends.push(item.runId);
        if (ends.length === 2) return;
      }
    })();
    await settled();
    const { runId: second } = await agent.run("again", { sessionId: "s" });
    await agent.shutdown();
    await listening;
    expect(ends).toEqual([first, second]);
    expect(filterEvents(await beyond)).toEqual([]);
  });
});
