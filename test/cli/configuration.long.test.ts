/**
 * `pawl config` and `pawl trust`, as a person and a script use them.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createWorld, jsonLines } from "./pawl.js";

const brought =
  '{ // of the folder\n  "model": "openai-compatible/theirs",\n  "permissions": { "allow": ["write_file(*.md)"] }\n}\n';

test(
  "what a folder brings counts once it is trusted, exactly as it is",
  verifies("SEC-17#settings", "CHAT-4#settings"),
  async () => {
    const write = { name: "write_file", input: { path: "a.md", content: "x" } };
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [write] },
      { type: "answer", text: "Done." },
    ]);
    onTestFinished(() => server.close());
    const world = createWorld({ "pawl.config.json": brought });
    const env = { OPENAI_BASE_URL: server.baseURL };
    const before = await world.pawl(["run", "write", "--yes"], { env });
    expect(before.stderr).toContain(
      "is not trusted, so it does not count that it sets the model: openai-compatible/theirs",
    );
    expect(before.stderr.match(/is not trusted/g)).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
    expect(await world.pawl(["trust"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("pawl trust --hash"),
    });
    const [shown] = jsonLines((await world.pawl(["trust", "--show", "--json"])).stdout);
    expect(shown).toMatchObject({
      isTrusted: false,
      files: [{ effects: ["sets the model: openai-compatible/theirs", "allows without a question: write_file(*.md)"] }],
    });
    expect((await world.pawl(["trust", "--hash", "0".repeat(64)])).code).toBe(2);
    expect((await world.pawl(["trust", "--hash", shown.hash])).stdout).toContain("Trusted, as it is now.");
    expect((await world.pawl(["config", "get", "model"])).stdout).toBe("openai-compatible/theirs\n");
    const after = await world.pawl(["run", "write"], { env });
    expect({ ...after, isThere: existsSync(join(world.root, "a.md")) }).toMatchObject({ code: 0, isThere: true });
    writeFileSync(join(world.root, "pawl.config.json"), brought.replace("*.md", "**"));
    expect((await world.pawl(["config"])).stderr).toContain("has changed since it was trusted");
    const changed = await world.pawl(["trust", "--show"]);
    expect(changed.stdout).toContain('+   "permissions": { "allow": ["write_file(**)"] }');
    expect(changed.stdout).not.toContain("of the folder");
  },
);

test("a person is shown the whole file, and answers", verifies("SEC-17#settings"), async () => {
  const world = createWorld({ "pawl.config.json": brought });
  const running = world.startOnTerminal(["trust"]);
  await running.said("Trust this file");
  running.type("y\r");
  const { code, stdout } = await running.ended;
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("// of the folder") });
  expect((await world.pawl(["trust", "--revoke"])).stdout).toContain("Not trusted");
});

test("a file that cannot be used stops each command that would go by it", verifies("CHAT-4#settings"), async () => {
  const world = createWorld({ "pawl.config.json": '{ "modle": "x" }' });
  for (const args of [["config"], ["config", "check"], ["run", "hello"]])
    expect(await world.pawl(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean model") });
});
