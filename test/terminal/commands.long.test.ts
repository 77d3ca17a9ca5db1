/**
 * Commands of the conversation in a pseudo-terminal. The model is a local server that answers from a script.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { usePager } from "./conversation.js";
import { openPawl, type PersonOptions } from "./pseudo-terminal.js";

async function talking(world: World, script: Script, options: PersonOptions = {}) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const env = { OPENAI_BASE_URL: server.baseURL, ...options.env };
  const person = openPawl(world, ["--model", "openai-compatible/test"], { ...options, env });
  await person.sees("ready");
  const sent = (at: number) => JSON.stringify(server.requests[at]?.body.messages);
  return { person, sent };
}

const answer = (text: string) => ({ type: "answer", text }) as const;

test("/fork goes on from before an earlier message, and Esc twice does, too", verifies("CHAT-3#sessions"), async () => {
  const world = createWorld();
  const { person, sent } = await talking(world, [answer("One."), answer("Two."), answer("Other two.")]);
  person.type("first message\r");
  await person.sees(/One\.[\s\S]*ready/);
  person.type("second message\r");
  await person.sees(/Two\.[\s\S]*ready/);
  person.type("\x1b\x1b");
  await person.sees(/fork before ›[\s\S]*› +2 {2}second message[\s\S]*1 {2}first message/);
  person.type("\r");
  await person.sees(/Forked before message 2\.[\s\S]*> second message\nready/);
  person.type(" again\r");
  await person.sees(/Other two\.[\s\S]*ready/);
  expect(sent(2)).toContain("One.");
  expect(sent(2)).not.toContain("Two.");
  expect(sent(2)).toContain("second message again");
  person.type("/fork 7\r");
  await person.sees("This session has 2 messages");
  const sessions = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
  expect(sessions).toHaveLength(2);
});

test("! runs a command of the person, whose output joins the next message", verifies("CHAT-1#keys"), async () => {
  const world = createWorld();
  const { person, sent } = await talking(world, [answer("I see it.")], { env: { MINE: "my own" } });
  person.type('!echo "$MINE $COLUMNS"; exit 3\r');
  // What the output leaves of the 80 columns.
  await person.sees(/! echo "\$MINE \$COLUMNS"; exit 3[\s\S]*│ my own 76\n +│ \(exit code 3\)[\s\S]*ready/);
  person.type("what is it?\r");
  await person.sees(/> what is it\?\n +\+ The user ran in the folder: .* · 2 lines[\s\S]*I see it\.[\s\S]*ready/);
  expect(sent(0)).toContain("my own 76");
  person.type("!touch begun; sleep 600\r");
  await person.sees("esc stops");
  await expect.poll(() => existsSync(join(world.root, "begun"))).toBe(true);
  person.type("\x1b");
  await person.sees(/The command was aborted[\s\S]*ready/);
});

test(
  "Ctrl-G writes the draft in the person's editor, and work goes on beside it",
  verifies("CHAT-1#keys"),
  async () => {
    const world = createWorld();
    const editor = join(world.root, "editor.sh");
    const [opened, ended] = [join(world.root, "opened"), join(world.root, "ended")];
    writeFileSync(
      editor,
      `#!/bin/sh\ntouch "${opened}"\nuntil [ -e "${ended}" ]; do sleep 0.02; done\necho "$(cat "$1"), in three lines" > "$1"\n`,
    );
    chmodSync(editor, 0o755);
    const { person, sent } = await talking(world, [answer("One."), answer("Two.")], { env: { VISUAL: editor } });
    person.type(`!until [ -e "${opened}" ]; do sleep 0.02; done; echo "while it is open"\r`);
    await person.sees("esc stops");
    person.type("sum it up\x07");
    await expect.poll(() => existsSync(opened)).toBe(true);
    writeFileSync(ended, "");
    await person.sees(/while it is open[\s\S]*> sum it up, in three lines/);
    person.type("\r");
    await person.sees(/One\.[\s\S]*ready/);
    expect(sent(0)).toContain("sum it up, in three lines");
  },
);

test("@ completes the names of files, and the file joins the message", verifies("CHAT-1#paths"), async () => {
  const world = createWorld({
    ".gitignore": "dist/\n",
    "src/parse.ts": "export const parse = 1;\n",
    "src/parse.test.ts": "test\n",
    "dist/parse.js": "built\n",
  });
  const { person, sent } = await talking(world, [answer("Read it.")]);
  person.type("look at @pars");
  await person.sees(/src\/parse\.test\.ts {2}src\/parse\.ts/);
  person.type("\t");
  await person.sees(/@ ›/);
  person.type("parse.ts");
  await person.sees(/› src\/parse\.ts/);
  person.type("\r");
  await person.sees("> look at @src/parse.ts");
  person.type("please\r");
  await person.sees(
    /> look at @src\/parse\.ts please\n +\+ The file src\/parse\.ts, as it is now · 2 lines[\s\S]*Read it\./,
  );
  expect(sent(0)).toContain("export const parse = 1;");
});

test("/context, /copy, /output, /todo and /trace show what the session has", verifies("CHAT-3#look"), async () => {
  const world = createWorld();
  const pager = join(world.root, "pager.sh");
  writeFileSync(pager, `#!/bin/sh\ncat > "${join(world.root, "paged")}"\n`);
  chmodSync(pager, 0o755);
  const plan = {
    items: [
      { text: "Read the file", status: "done" },
      { text: "Mend it", status: "in_progress" },
    ],
  };
  const { person } = await talking(
    world,
    [
      { type: "answer", calls: [{ name: "todo", input: plan }] },
      { type: "answer", calls: [{ name: "list_files", input: {} }] },
      { ...answer("Here:\n\n```sh\nnpm test\n```"), usage: { input: 2_345, output: 10 } },
    ],
    { env: { PAGER: pager }, rows: 40 },
  );
  person.type("/output\r");
  await person.sees("This session has 0 outputs.");
  person.type("go\r");
  await person.sees(/npm test[\s\S]*ready/);
  person.type("/context\r");
  await person.sees(
    /system prompt +[\d,]+ tokens +\d+ %\s+environment +\d+ tokens[\s\S]*tool results[\s\S]*Its provider counted 2,345 tokens\.\s+Nothing was left out of the conversation\./,
  );
  person.type("/copy 1\r");
  await person.sees("Code block 1 is copied");
  expect(person.bytes()).toContain(`\x1b]52;c;${Buffer.from("npm test").toString("base64")}\x07`);
  person.type("/todo\r");
  await person.sees(/\[x\] Read the file\n\[>\] Mend it/);
  await usePager(person, "/output\r");
  expect(readFileSync(join(world.root, "paged"), "utf8")).toContain("pager.sh");
  person.type("/trace\r");
  await person.sees(/list_files[\s\S]*█/);
});

test("/resume knows the sessions of other folders, and says how to go there", verifies("CHAT-3#sessions"), async () => {
  const world = createWorld({ "other/x": "" });
  const { person } = await talking(world, [answer("Elsewhere."), answer("Here.")]);
  const there = await talking(world, [answer("Elsewhere.")]);
  there.person.kill("SIGKILL");
  expect((await world.pawl(["run", "--model", "demo", "--root", "other", "List the files"])).code).toBe(0);
  person.type("/resume\r");
  await person.sees(/resume ›[\s\S]*in other: List the files/);
  person.type("\r");
  await person.sees(/That session works in .*\/other\. Continue there:[\s\S]*pawl --session/);
});

test(
  "words that a command does not take are refused, and outputs of two commands are apart",
  verifies("CHAT-3#look"),
  async () => {
    const { person } = await talking(createWorld(), []);
    person.type("/cost now\r");
    await person.sees('/cost takes nothing after it, not "now".');
    person.type("/undo everything\r");
    await person.sees("/undo takes a number, counted from 1.");
    person.type("/diff notes.txt\r");
    await person.sees("/diff takes a number, counted from 1.");
    person.type("/todo\r");
    await person.sees("The model has no plan in this session.");
    person.type("/skills\r");
    await person.sees(/The model has no plan in this session\.\n\nThere are no skills\./);
  },
);

test("/config shows what pawl config shows, and the model of the session", verifies("CHAT-4#settings"), async () => {
  const world = createWorld({ "pawl.config.json": '{ "model": "demo", "limits": { "maxSteps": 7 } }' });
  const { hash } = JSON.parse((await world.pawl(["trust", "--show", "--json"])).stdout) as { readonly hash: string };
  expect((await world.pawl(["trust", "--hash", hash])).code).toBe(0);
  expect((await world.pawl(["config", "set", "limits.maxTokens", "90000"])).code).toBe(0);
  expect((await world.pawl(["permissions", "add", "deny", "shell(rm *)", "--user"])).code).toBe(0);
  const { person } = await talking(world, [], { columns: 200 });
  person.type("/config\r");
  const shown = await person.sees("The model of this session is openai-compatible/test.");
  const lines = (await world.pawl(["config"])).stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/ {2}\(.*/, ""))).toEqual([
    "model  demo",
    "limits.maxSteps  7",
    "limits.maxTokens  90000",
    "deny  shell(rm *)",
  ]);
  for (const line of lines) expect(shown).toContain(line);
});

test("/NAME sends the text of commands/NAME.md, which runs nothing and reads no file", verifies("CHAT-3"), async () => {
  const world = createWorld();
  const configuration = join(world.home, "config");
  mkdirSync(join(configuration, "pawl", "commands"), { recursive: true });
  const own = (name: string, text: string) => writeFileSync(join(configuration, "pawl", "commands", name), text);
  own("review.md", "# Review a change\n\nReview $ARGUMENTS, twice: $ARGUMENTS. Not @secret.txt.");
  own("new.md", "takes nothing over");
  own("greet-all.md", "!touch ran\nGreet everybody.");
  own("Bad Name.md", "x");
  own("large.md", "x".repeat(40_000));
  writeFileSync(join(world.root, "secret.txt"), "a secret of the folder");
  writeFileSync(join(world.root, "shown.txt"), "what is shown");
  const { person, sent } = await talking(world, [answer("Reviewed."), answer("Hello.")], {
    env: { XDG_CONFIG_HOME: configuration },
    columns: 120,
  });
  await person.sees(/new\.md\s+is\s+not\s+a\s+command:\s+\/new\s+is\s+a\s+built-in\s+command/);
  await person.sees(/Bad\s+Name\.md\s+is\s+not\s+a\s+command:\s+its\s+name\s+must\s+be\s+at\s+most\s+40/);
  await person.sees(/large\.md\s+is\s+not\s+a\s+command:\s+it\s+is\s+larger\s+than\s+32,768\s+bytes/);
  person.type("/rev");
  await person.sees("/review");
  person.type("\t@shown.txt\r");
  await person.sees(/Review @shown\.txt, twice: @shown\.txt[\s\S]*Reviewed\.[\s\S]*ready/);
  expect(sent(0)).toContain("what is shown");
  expect(sent(0)).not.toContain("a secret of the folder");
  person.type("/help\r");
  await person.sees(/\/review \[words\] +sends your text: Review a change/);
  await person.sees(/\/greet-all \[words\] +sends your text: !touch ran/);
  person.type("/greet-all now\r");
  await person.sees(/Hello\.[\s\S]*ready/);
  expect(sent(1)).toContain("Greet everybody.\\n\\nnow");
  expect(existsSync(join(world.root, "ran"))).toBe(false);
});

test(
  "a message behind a command that leads to another session reaches that one",
  verifies("CHAT-3#sessions"),
  async () => {
    const world = createWorld();
    const { person, sent } = await talking(world, [answer("One."), answer("Two.")]);
    person.type("first message\r");
    await person.sees(/One\.[\s\S]*ready/);
    person.type("/new\rmeant for the new session\r");
    await person.sees(/> meant for the new session[\s\S]*Two\.[\s\S]*ready/);
    expect(sent(1)).not.toContain("first message");
    const sessions = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
    expect(sessions).toHaveLength(2);
  },
);
