/**
 * Hooks of Claude Code's settings: which are copied, and why others are not.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { importHooks } from "../../../src/cli/commands/hooks.js";
import { parseHooks } from "../../../src/cli/hooks/hooks-file.js";
import { addHooks, planImport } from "../../../src/cli/hooks/import-hooks.js";
import type { Terminal } from "../../../src/cli/terminal/terminal.js";
import { verifies } from "../../verifies.js";

const entry = (command: string, more = {}) => ({ type: "command", command, ...more });
const path = "hooks.json";

/** The person at the terminal. */
const person = vi.hoisted((): { answer: () => string } => ({ answer: () => "n" }));
vi.mock("../../../src/cli/terminal/prompt-line.js", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  promptLine: async () => person.answer(),
}));

function createWorld() {
  const root = mkdtempSync(join(tmpdir(), "pawl-import-"));
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });
  vi.stubEnv("HOME", join(root, "home"));
  for (const folder of [".claude", ".pawl"]) mkdirSync(join(root, folder));
  const hooks = {
    PreToolUse: [
      { matcher: "Bash", hooks: [entry("check.py", { if: "Bash(git *)", env: ["NPM_TOKEN"] }), entry("all.py")] },
    ],
  };
  writeFileSync(join(root, ".claude/settings.json"), JSON.stringify({ hooks }));
  const outputs: string[] = [];
  const terminal = { isInteractive: false, out: (text: string) => outputs.push(text) } as unknown as Terminal;
  return { root, terminal, outputs };
}

test("copies what Pawl runs in the same way, and says why it does not copy the rest", verifies("CHAT-6#events"), () => {
  const settings = JSON.stringify({
    model: "x",
    hooks: {
      PreToolUse: [
        { matcher: "Bash", hooks: [entry("check.py", { timeout: 5 }), entry("rewake.py", { asyncRewake: true })] },
        { matcher: "^Write$", hooks: [entry("regex.sh")] },
        { matcher: "Edit", hooks: [entry("present.sh")] },
      ],
      Stop: [{ hooks: [{ type: "prompt", prompt: "Is it done?" }, entry("stop.sh")] }],
      ConfigChange: [{ hooks: [entry("change.sh")] }],
    },
  });
  const present = `{ // mine\n "description": "mine", "hooks": { "PreToolUse": [{ "matcher": "Edit", "hooks": [${JSON.stringify(entry("present.sh"))}] }] } }`;
  const plan = planImport(settings, parseHooks(path, present));
  expect(plan.copied.map(({ event, command }) => `${event} ${command}`)).toEqual([
    "PreToolUse check.py",
    "Stop stop.sh",
  ]);
  expect(plan.refused.map(({ event, why }) => [event, why])).toEqual([
    ["PreToolUse", expect.stringContaining("asyncRewake is unknown")],
    ["PreToolUse", expect.stringContaining("must be names with | between them")],
    ["Stop", expect.stringContaining('must be "command"')],
    ["ConfigChange", "Pawl has no event ConfigChange"],
  ]);
  expect(plan.presentCount).toBe(1);
  const written = addHooks({ text: present }, plan.copied);
  expect(parseHooks(path, written).map(({ command, timeoutMs }) => [command, timeoutMs])).toEqual([
    ["present.sh", 60_000],
    ["check.py", 5_000],
    ["stop.sh", 60_000],
  ]);
  expect(written).toContain('"description": "mine"');
  // Once more, nothing is new.
  expect(planImport(settings, parseHooks(path, written))).toMatchObject({ copied: [], presentCount: 3 });
});

test("copies a hook that differs from a present one in any member, and refuses a matcher that is not a string", () => {
  const settings = (hook: object, matcher: unknown = "Edit") =>
    JSON.stringify({ hooks: { PreToolUse: [{ matcher, hooks: [hook] }] } });
  const present = parseHooks(path, settings(entry("a.sh", { timeout: 60 })));
  expect(planImport(settings(entry("a.sh")), present)).toMatchObject({ copied: [], presentCount: 1 });
  for (const more of [
    { timeout: 5 },
    { async: true },
    { onFailure: "closed" },
    { if: "shell(git *)" },
    { env: ["NPM_TOKEN"] },
  ])
    expect(planImport(settings(entry("a.sh", more)), present)).toMatchObject({ copied: [{}], presentCount: 0 });
  for (const matcher of [null, 5])
    expect(planImport(settings(entry("a.sh"), matcher), present)).toMatchObject({
      copied: [],
      refused: [{ why: "PreToolUse.matcher must be a string" }],
    });
});

test("does not overwrite a change that was made while the question was open", async () => {
  const { root, terminal, outputs } = createWorld();
  const target = join(root, ".pawl/hooks.json");
  const edited = '{ "hooks": { "Stop": [] } }';
  person.answer = () => {
    writeFileSync(target, edited);
    return "y";
  };
  await expect(importHooks({ root }, { ...terminal, isInteractive: true })).rejects.toThrow(
    "has changed while the question was open",
  );
  expect(readFileSync(target, "utf8")).toBe(edited);
  person.answer = () => "y";
  await importHooks({ root }, { ...terminal, isInteractive: true });
  expect(parseHooks(target, readFileSync(target, "utf8")).map(({ command }) => command)).toEqual([
    "check.py",
    "all.py",
  ]);
  expect(outputs.join("")).toContain("Copied 2 hooks");
});

test.each([
  ["{", "it is not valid JSON"],
  ['{"hooks": []}', "its hooks are not an object"],
])("cannot read settings such as %s", (settings, why) => {
  expect(() => planImport(settings, [])).toThrow(why);
});

test("shows all that it would copy, and that comments would be lost", verifies("CHAT-6#events"), async () => {
  const { root, terminal, outputs } = createWorld();
  const show = async () => {
    outputs.length = 0;
    await expect(importHooks({ root }, terminal)).rejects.toThrow("Without a terminal");
    return outputs.join("");
  };
  const shown = await show();
  expect(shown).toContain(
    '  PreToolUse  Bash  check.py  {"if":"Bash(git *)","env":["NPM_TOKEN"]}\n  PreToolUse  Bash  all.py\n',
  );
  expect(shown).not.toContain("comments");
  writeFileSync(join(root, ".pawl/hooks.json"), '{ // mine\n "hooks": {} }');
  expect(await show()).toContain(`The comments of ${join(root, ".pawl/hooks.json")} will be lost.`);
});
