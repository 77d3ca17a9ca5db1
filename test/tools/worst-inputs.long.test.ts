import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compileTool } from "../../src/runtime/tools/compile-tools.js";
import { expectShortBlocks } from "../bounds/plain-pass.js";
import { verifies } from "../verifies.js";
import { awaitToolOutput } from "./folder.js";
import { factories, toolsUnderTest } from "./worst-inputs.js";

const folder = join(import.meta.dirname, "../../src/tools");

test("every function that gives built-in tools is walked", async () => {
  // The tools of MCP servers are not built in.
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => /(?<![.]d)[.]ts$/.test(name) && !name.startsWith("mcp/"),
  );
  const modules: object[] = await Promise.all(files.map((name) => import(join(folder, name))));
  const exported = modules.flatMap((module) => Object.keys(module)).filter((name) => /^create\w*Tools?$/.test(name));
  expect(Object.keys(factories).sort()).toEqual([...new Set(exported)].sort());
});

test("no tool keeps the event loop for long, whatever its input", {
  ...verifies("SEC-15"),
  timeout: 600_000,
}, async () => {
  const tools = await toolsUnderTest();
  expect(tools.filter(({ inputs }) => inputs.length === 0).map(({ tool }) => tool.name)).toEqual([]);
  const table: string[] = [];
  const failed: string[] = [];
  for (const { tool, inputs, arrange } of tools) {
    const { validate } = compileTool(tool);
    let longest = { blockMs: 0, passMs: 1, what: "" };
    for (const { what, input } of inputs) {
      const name = `${tool.name}: ${what}`;
      const work = async () => {
        const checked = await validate(input as never);
        if (checked.ok) await awaitToolOutput(tool.execute?.(checked.value, await arrange()));
      };
      try {
        const block = await expectShortBlocks(name, JSON.stringify(input), work);
        if (block.blockMs > longest.blockMs) longest = { ...block, what };
      } catch (error) {
        failed.push(error instanceof Error ? error.message : String(error));
      }
    }
    const { blockMs, passMs, what } = longest;
    table.push(
      `${tool.name}: ${inputs.length} inputs, longest ${blockMs.toFixed(1)} ms (a pass: ${passMs.toFixed(1)} ms): ${what}`,
    );
  }
  process.stdout.write(`${tools.length} tools\n${table.join("\n")}\n`);
  expect(failed).toEqual([]);
});
