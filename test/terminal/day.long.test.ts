/**
 * A day's work in a terminal: a failing test is mended. The model is a local server with an OpenAI-compatible address; it answers
 * by what the conversation holds, so it answers the same after a kill. A second terminal approves.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGate, createWorld, parseJsonLines } from "../cli/pawl.js";
import { type Script, type ScriptedReply, startProviderServer } from "../models/provider-server.js";
import { findProcessesWith } from "../tools/sandbox/left-processes.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

const broken =
  'export function parse(text) {\n  const pieces = text.split("\\n");\n  pieces.pop();\n  return pieces;\n}\n';
const mended = broken.replace("  pieces.pop();", '  if (pieces.at(-1) === "") pieces.pop();');
const check = [
  'import assert from "node:assert";',
  'import test from "node:test";',
  'import { parse } from "../src/parse.mjs";',
  'test("keeps the last line", () => assert.deepEqual(parse("a\\nb"), ["a", "b"]));',
  "",
].join("\n");

test(
  "a failing test is mended by one person, with a second terminal, a kill, and a step back",
  verifies("CHAT-1#day"),
  async () => {
    const world = createWorld({ "src/parse.mjs": broken, "test/parse.test.mjs": check });
    const gate = createGate(world.root);
    const runTests = "echo run >> runs; node --test test/parse.test.mjs";
    const shell = (command: string, text: string) =>
      ({ type: "answer", text, calls: [{ name: "shell", input: { command } }] }) as const;
    const edit = {
      path: "src/parse.mjs",
      oldText: "  pieces.pop();",
      newText: '  if (pieces.at(-1) === "") pieces.pop();',
    };
    /** By the number of results that the conversation holds. */
    const replies: { readonly [results: number]: ScriptedReply } = {
      0: {
        type: "answer",
        text: "I look where it is.",
        calls: [
          { name: "search_files", input: { text: "pieces" } },
          { name: "read_file", input: { path: "src/parse.mjs" } },
        ],
      },
      2: shell(runTests, "I run the test first."),
      3: { type: "answer", text: "The last line is dropped.", calls: [{ name: "edit_file", input: edit }] },
      4: shell(`${gate.command}; ${runTests}`, "Now once more."),
      5: shell(runTests, "That was interrupted. I run the test again."),
      6: { type: "answer", text: "**Mended**: the last piece goes only when it is empty." },
    };
    const script: Script = ({ body }) => {
      const messages = (body as { readonly messages: readonly { readonly role: string }[] }).messages;
      return (
        replies[messages.filter(({ role }) => role === "tool").length] ?? { type: "answer", text: "Nothing is left." }
      );
    };
    const server = await startProviderServer("openai-chat", script);
    onTestFinished(() => server.close());
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["--model", "openai-compatible/test"];
    const size = { env, columns: 100, rows: 40 };

    const texts = [
      "> fix the failing parse test",
      "I look where it is.",
      "I run the test first.",
      "The last line is dropped.",
      "Now once more.",
    ];
    const expectOnce = (history: readonly string[]) => {
      const lines = history.map((line) => line.trimEnd());
      for (const text of texts)
        expect(
          lines.filter((line) => line === text),
          text,
        ).toHaveLength(1);
    };

    const person = openPawl(world, args, size);
    await person.sees(/starting…|ready/);
    person.type("fix the failing parse test\r");
    await person.answers("y", /I run the test first\.[\s\S]*shell wants to run[\s\S]*y yes/);
    await person.sees(/✗ shell echo run/);
    // The edit is approved from a second terminal, as it is shown: in its place in the file.
    await person.sees(
      /edit_file wants to run:[\s\S]*3 - {3}pieces\.pop\(\);\n +3 \+ {3}if \(pieces\.at\(-1\) === ""\) pieces\.pop\(\);[\s\S]*y yes/,
    );
    const [waiting] = parseJsonLines((await world.pawl(["approvals", "--json"])).stdout);
    expect(await world.pawl(["approve", waiting.id])).toMatchObject({ code: 0 });
    await person.sees("edit_file src/parse.mjs: approved by");
    await person.answers("y", /Now once more\.[\s\S]*y yes/);
    await gate.begun({ ended: new Promise(() => {}) } as never);
    person.type("only src/, please\r");
    await person.sees("↳ you, before the next model call: only src/, please");
    // The screen may be read while it is drawn.
    await vi.waitFor(async () => expectOnce(await person.history()));
    person.kill("SIGKILL");
    await person.ended;
    await vi.waitFor(() => expect(findProcessesWith(world.root)).toEqual([]));

    const again = openPawl(world, [...args, "--continue"], size);
    await again.answers("y", /Continued after an interruption\.[\s\S]*That was interrupted\.[\s\S]*y yes/);
    await again.sees(/Mended: the last piece goes only when it is empty\.[\s\S]*ready/);
    await vi.waitFor(async () => expectOnce(await again.history()));
    expect(readFileSync(join(world.root, "src/parse.mjs"), "utf8")).toBe(mended);
    // The interrupted command did not get to its test, and did not run again by itself.
    expect(readFileSync(join(world.root, "runs"), "utf8")).toBe("run\nrun\n");
    expect(JSON.stringify(server.requests.at(-1)?.body.messages)).toContain("only src/, please");

    again.type("/undo\r");
    await again.sees(/src\/parse\.mjs changes[\s\S]*3 \+ {3}pieces\.pop\(\);[\s\S]*Also ran: \d × shell[\s\S]*undo ›/);
    again.type("1 file\r");
    await again.sees("Undid changes to 1 file: src/parse.mjs");
    expect(readFileSync(join(world.root, "src/parse.mjs"), "utf8")).toBe(broken);
    again.type("/quit\r");
    expect(await again.ended).toMatchObject({ code: 0 });
    expect(person.bytes() + again.bytes()).not.toMatch(/\x1b\[[23]J|\x1b\[\?1049/);
  },
);
