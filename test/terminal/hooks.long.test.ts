/**
 * Hooks in files, in a conversation in a pseudo-terminal.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createGate, createWorld } from "../cli/pawl.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

test("a hook of the folder refuses a call after trust, and /hooks lists it", verifies("CHAT-6#screen"), async () => {
  // It ends when the test opens the gate.
  const command = "echo x > gate-begun; read answer < gate; echo 'not these notes' >&2; exit 2";
  const hooks = { PreToolUse: [{ matcher: "Read", hooks: [{ type: "command", command }] }] };
  const world = createWorld({ ".pawl/hooks.json": JSON.stringify({ hooks }), "notes.txt": "blue" });
  const gate = createGate(world.root);
  const server = await startProviderServer("openai-chat", [
    { type: "answer", calls: [{ name: "read_file", input: { path: "notes.txt" } }] },
    { type: "answer", text: "I cannot read them." },
  ]);
  onTestFinished(() => server.close());
  const person = openPawl(world, ["--model", "openai-compatible/test"], {
    env: { OPENAI_BASE_URL: server.baseURL },
    columns: 80,
    rows: 50,
  });
  await person.sees(/runs at PreToolUse of Read: echo x > gate-begun[\s\S]*outside of the sandbox[\s\S]*trust ›/);
  person.type("\x1b[B\r");
  await person.seesNoMore("trust ›");
  person.type("read the notes\r");
  await person.sees(/hook PreToolUse: echo x… \d+ .*esc stops/);
  gate.open();
  await person.sees(/not these notes[\s\S]*I cannot read them\.[\s\S]*ready/);
  person.type("/hooks\r");
  await person.sees(/PreToolUse · of this folder\n +echo x > gate-begun[\s\S]*for Read · 60 s at most/);
  person.type("/quit\r");
  await person.ended;
  expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("not these notes");
  expect(JSON.parse((await world.pawl(["config", "--json"])).stdout).hooks).toMatchObject([
    { event: "PreToolUse", matcher: "Read", scope: "folder", path: join(world.root, ".pawl/hooks.json"), on: true },
  ]);
  writeFileSync(join(world.root, ".pawl/hooks.json"), '{"hooks": {"WorktreeCreate": []}}');
  expect((await world.pawl(["doctor"])).stdout).toContain("hooks.WorktreeCreate is not an event of Pawl");
});
