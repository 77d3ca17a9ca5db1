/**
 * Tools and models that give values forever and never wait for anything: the process goes on, and their limits hold. Each
 * runs in a process of its own, which would never end otherwise.
 */
import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";

const prelude = `
  import { createAgent, defineTool } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
  import { createScriptedModel } from ${JSON.stringify(new URL("../../dist/testing/index.js", import.meta.url).href)};
  let turns = 0;
  const abort = new AbortController();
  const timer = setInterval(() => { turns += 1; }, 5);
  const input = { type: "object" };
  const model = createScriptedModel([{ calls: [{ name: "flood", input: {} }] }, { text: "Done." }]);
  const flood = (execute) => defineTool({ name: "flood", description: "Floods.", input, timeoutMs: 300, execute });
  const show = (value) => { clearInterval(timer); console.log(JSON.stringify({ turns, ...value })); };
`;

/** What the program shows; rejects if it is not over in 20 s. */
function outcomeOf(program: string): Promise<{ readonly turns: number; readonly [key: string]: unknown }> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", prelude + program], { timeout: 20_000 });
  let text = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (errors += piece));
  return new Promise((resolve, reject) => {
    child.on("close", (code, signal) => {
      if (code === 0) resolve(JSON.parse(text) as { turns: number });
      else reject(new Error(`ended with ${code ?? signal}: ${errors}`));
    });
  });
}

const runs = (execute: string, then = "") => `
  const stream = createAgent({ model, tools: [flood(${execute})] }).runStream("Go", { signal: abort.signal });
  ${then}
  const results = [];
  for await (const item of stream) if (item.type === "tool_result") results.push(item.output.text ?? item.outcome);
  show({ result: await stream.result, results });
`;

describe("a tool that yields without waiting", () => {
  test.each([
    ["an async generator", "async function* () { for (;;) yield 1; }"],
    ["a generator", "function* () { for (;;) yield 1; }"],
    [
      "an iterable without generators",
      "() => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }) })",
    ],
  ])("is ended by its timeoutMs, and timers fire meanwhile: %s", async (_, execute) => {
    const { turns, result, results } = await outcomeOf(runs(execute));
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    expect(String(results)).toContain("300 ms");
    // How often depends on the machine's load.
    expect(turns).toBeGreaterThan(0);
  });

  test("can be aborted", async () => {
    const { result } = await outcomeOf(
      runs("async function* () { for (;;) yield 1; }", "setTimeout(() => abort.abort(), 50);"),
    );
    expect(result).toMatchObject({ status: "aborted" });
  });
});

test("a model that streams without waiting can be aborted", async () => {
  const { result, turns } = await outcomeOf(`
    const endless = { id: "endless", async *stream() { for (;;) yield { kind: "reasoning-start", id: "r" }, yield { kind: "text-delta", id: "t", text: "" }; } };
    const stream = createAgent({ model: endless }).runStream("Go", { signal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    for await (const _ of stream);
    show({ result: await stream.result });
  `);
  expect(result).toMatchObject({ status: "aborted" });
  expect(turns).toBeGreaterThan(0);
});
