/**
 * The setting `fallbacks`: another model takes over when one has been given up.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { type RecordedRequest, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

const settings = verifies("CHAT-4#settings");
const model = ["--model", "openai-compatible/one"];
const overloaded = { type: "failure", failure: "overloaded", headers: { "retry-after-ms": "1" } } as const;

/** A provider whose model `one` is overloaded. Its model `two` reads a file and answers. */
async function startProvider() {
  const server = await startProviderServer("openai-chat", ({ body }: RecordedRequest) => {
    if (body.model === "one") return overloaded;
    const hasRead = JSON.stringify(body.messages).includes("The notes say blue.");
    return hasRead
      ? ({ type: "answer", text: "They say blue." } as const)
      : ({
          type: "answer",
          calls: [{ name: "write_file", input: { path: "a.txt", content: "The notes say blue." } }],
        } as const);
  });
  onTestFinished(() => server.close());
  return { OPENAI_BASE_URL: server.baseURL };
}

function configure({ base }: World, fallbacks: readonly string[]): void {
  const folder = join(base, ".config", "pawl");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "pawl.config.json"), JSON.stringify({ fallbacks }));
}

test("a conversation says which model has taken over, and which cannot be used", settings, async () => {
  const world = createWorld();
  configure(world, ["anthropic/claude-sonnet-5-5", "openai-compatible/two"]);
  const env = await startProvider();
  const person = openPawl(world, model, { columns: 120, rows: 40, env });
  await person.sees(/The fallback anthropic\/claude-sonnet-5-5 is left out\. [\s\S]*ready/);
  person.type("write\r");
  await person.sees(/Continuing with\s+openai-compatible\/two\./);
  await person.sees(/waiting for you · 1 question · openai-compatible\/two serves/);
  person.kill("SIGKILL");
  await person.ended;
  const again = openPawl(world, [...model, "--continue"], { columns: 120, rows: 40, env });
  await again.answers("y", /waiting for you · 1 question · openai-compatible\/two serves/);
  await again.sees(/They say blue\.[\s\S]*ready/);
  expect(await again.screen()).not.toContain("serves");
});

test("pawl run goes on with the next model, and its events name the model that answered", settings, async () => {
  const world = createWorld();
  configure(world, ["openai-compatible/two"]);
  const env = await startProvider();
  const { code, stdout } = await world.pawl(["run", "write", "--yes", "--json", ...model], { env });
  expect(code).toBe(0);
  const events = parseJsonLines(stdout);
  expect(events.filter(({ type }) => type === "attempt_failed").at(-1)).toMatchObject({ next: "fallback" });
  const steps = events.filter(({ type }) => type === "step_finished");
  expect(steps.map((step) => step.model)).toEqual(["openai-compatible/two", "openai-compatible/two"]);
});

test("pawl run --max-cost leaves out a fallback without a price, instead of refusing the run", settings, async () => {
  const world = createWorld({ "README.md": "Blue.\n" });
  configure(world, ["openai-compatible/two"]);
  const env = await startProvider();
  const { code, stderr } = await world.pawl(["run", "List the files", "--max-cost", "0.5", "--model", "demo"], { env });
  expect(stderr).toContain("The fallback openai-compatible/two is left out. There is a limit in dollars");
  expect(code).toBe(0);
});

test("why a fallback is left out is shown without secrets", verifies("SEC-14"), async () => {
  const world = createWorld({ "README.md": "Blue.\n" });
  configure(world, ["nowhere/secret-of-the-fallback"]);
  const env = { SOME_API_KEY: "secret-of-the-fallback" };
  const { stderr } = await world.pawl(["run", "List the files", "--model", "demo"], { env });
  expect(stderr).toContain("is left out");
  expect(stderr).not.toContain("secret-of-the-fallback");
});
