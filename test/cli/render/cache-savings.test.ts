/**
 * What a person is told that a provider's prompt cache saved.
 */
import { expect, test } from "vitest";
import { createRenderer } from "../../../src/cli/render/renderer.js";
import { plainText } from "../../../src/cli/terminal/text-style.js";
import { createAgent, type Usage } from "../../../src/index.js";
import { createScriptedModel } from "../../../src/testing/scripted-model.js";

async function lastLine(id: string, usage: Usage): Promise<string> {
  const renderer = createRenderer({ style: plainText, columns: 100 });
  const pieces: string[] = [];
  const agent = createAgent({ model: createScriptedModel([{ text: "Done.", usage }], { id }) });
  for await (const item of agent.runStream("Go")) for (const { text } of renderer.show(item)) pieces.push(text);
  return pieces.join("").trimEnd().split("\n").at(-1) ?? "";
}

test("the last line of a run says what share of the input was cached, and what that saved", async () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 900_000, cacheWriteTokens: 100_000 };
  // At $2 a million plain, $0.20 read and $2.50 written: $0.43 instead of $2.
  expect(await lastLine("anthropic/claude-sonnet-5", usage)).toMatch(
    /1,000,000 tokens in \(90 % cached\), 0 out · \$0\.4300 · the cache saved \$1\.57/,
  );
});

test("it says nothing of savings without a cache, with an unknown price, or where the cache cost more", async () => {
  const plain = { inputTokens: 1_000_000, outputTokens: 0 };
  expect(await lastLine("anthropic/claude-sonnet-5", plain)).not.toMatch(/cache/);
  expect(await lastLine("own/model", { ...plain, cacheReadTokens: 900_000 })).toMatch(/90 % cached/);
  expect(await lastLine("own/model", { ...plain, cacheReadTokens: 900_000 })).not.toMatch(/saved/);
  expect(await lastLine("anthropic/claude-sonnet-5", { ...plain, cacheWriteTokens: 1_000_000 })).not.toMatch(/saved/);
});
