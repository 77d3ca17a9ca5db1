/**
 * What a run makes Node load. Some globals, such as `Response`, load the client of `fetch` when they are first named: 20 ms of each process.
 * `node:http` is another millisecond.
 */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("a run loads no HTTP client of Node", () => {
  const program = `
    import { createAgent, defineTool } from "pawl";
    import { createScriptedModel } from "pawl/testing";
    const look = defineTool({
      name: "look", description: "Looks.", input: { type: "object", properties: {} },
      execute: () => ({ found: [{ at: new Date(0) }] }),
    });
    const model = createScriptedModel([{ calls: [{ name: "look", input: {} }] }, { text: "Done." }]);
    const { status } = await createAgent({ model, tools: [look] }).run("Look.");
    console.log(JSON.stringify({ status, loaded: process.moduleLoadList.filter((name) => /undici|http/.test(name)) }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({ status: "completed", loaded: [] });
});
