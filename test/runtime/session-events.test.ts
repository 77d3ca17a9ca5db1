import { describe, expect, test } from "vitest";
import { createAgent, type StreamItem } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

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
});
