/**
 * `pawl` in a pseudo-terminal, as a person uses it. The model is a local server that answers from a script.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGate, createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl, openProgram, type PersonOptions, pawlCommand } from "./pseudo-terminal.js";
import { withoutSandbox } from "./without-sandbox.js";

/** `pawl` with a model that answers from a script. */
async function talking(world: World, script: Script, args: readonly string[] = [], options: PersonOptions = {}) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const env = { OPENAI_BASE_URL: server.baseURL, ...options.env };
  const person = openPawl(world, ["--model", "openai-compatible/test", ...args], { ...options, env });
  await person.sees("ready");
  return { person, server, env };
}

const shell = (command: string) => ({ type: "answer", calls: [{ name: "shell", input: { command } }] }) as const;
const answer = (text: string) => ({ type: "answer", text }) as const;
const edit = { name: "edit_file", input: { path: "notes.txt", oldText: "colour", newText: "color" } };

async function eventsOf(world: World) {
  const [session] = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
  return parseJsonLines((await world.pawl(["sessions", "export", session.sessionId])).stdout).map(({ event }) => event);
}

const states = { welcome: "new session", streamed: "Second paragraph", question: "y yes" } as const;

describe.each([
  [40, 20],
  [80, 24],
  [200, 40],
])("at %i columns", (columns, rows) => {
  test(
    "a day's screens: welcome, Markdown, a question, a diff, an end",
    verifies("CHAT-1#view", "CHAT-2#keys"),
    async () => {
      const world = createWorld({ "notes.txt": "colour\n" });
      const text =
        "# A title\n\nFirst **bold** paragraph with `code`.\n\n- one\n- two\n\n```js\nconst a = 1;\n```\n\nSecond paragraph.";
      const { person } = await talking(
        world,
        [answer(text), { type: "answer", text: "I will edit it.", calls: [edit] }, answer("Done.")],
        [],
        { columns, rows },
      );
      await person.sees(states.welcome);
      person.type("hello\r");
      await person.sees(states.streamed);
      person.type("now edit\r");
      await person.answers("y", columns < 60 ? "y n r e a ?" : states.question);
      await person.sees(/Done\.[\s\S]*ready/);
      const lines = (await person.history()).map((line) => line.trimEnd());
      for (const expected of [
        "> hello",
        "A title",
        "First bold paragraph with code.",
        "- one",
        "  const a = 1;",
        "Second paragraph.",
        "? edit_file wants to run:",
        "    path: notes.txt",
        "    1 - colour",
        "    1 + color",
        "Done.",
      ])
        expect(
          lines.filter((line) => line === expected),
          expected,
        ).toHaveLength(1);
      expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
      person.type("\x04");
      expect(await person.ended).toMatchObject({ code: 0 });
      expect(person.bytes()).not.toMatch(/\x1b\[[23]J|\x1b\[\?1049/);
    },
  );
});

test("pawl run asks on one line of a narrow terminal, which shows the keys whole", verifies("CLI-2"), async () => {
  const world = createWorld({ "notes.txt": "colour\n" });
  const task = 'Replace "colour" with "color" in notes.txt';
  const person = openPawl(world, ["run", "--model", "demo", task], { columns: 72, rows: 30 });
  await person.sees(/^ {2}Allow edit_file notes\S+\? \[y\]es {2}\[n\]o \(reason\) {2}\[e\]dit {2}\[a\]lways… >/m);
  person.type("y\r");
  expect(await person.ended).toMatchObject({ code: 0 });
});

describe("keys at work", () => {
  async function atWork(world: World, more: Script & readonly unknown[]) {
    const gate = createGate(world.root);
    const { person, server } = await talking(world, [shell(gate.command), ...more] as Script);
    person.type("work\r");
    await person.answers("y", "y yes");
    await gate.begun({ ended: new Promise(() => {}) } as never);
    return { person, gate, server };
  }

  test("Enter steers, and the prompt stays while it works", verifies("CHAT-1#keys"), async () => {
    const world = createWorld();
    const { person, gate, server } = await atWork(world, [answer("With tabs.")]);
    person.type("use tabs");
    await person.sees("> use tabs");
    person.type("\r");
    await person.sees("↳ you, before the next model call: use tabs");
    gate.open();
    await person.sees(/With tabs\.[\s\S]*ready/);
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("use tabs");
  });

  test("Tab queues the next run, and Alt-↑ takes it back", verifies("CHAT-1#keys"), async () => {
    const world = createWorld();
    const { person, gate } = await atWork(world, [answer("First."), answer("Second.")]);
    person.type("then the other\t");
    await person.sees("next: 1 then the other");
    person.type("\x1b[1;3A");
    await person.sees("> then the other");
    await person.seesNoMore("next: 1");
    person.type("\t");
    await person.sees("next: 1 then the other");
    gate.open();
    await person.sees(/First\.[\s\S]*> then the other[\s\S]*Second\.[\s\S]*ready/);
  });

  test("Esc stops the run, and the session goes on", verifies("CHAT-1#keys"), async () => {
    const world = createWorld();
    const { person } = await atWork(world, [answer("Going on.")]);
    person.type("\x1b");
    await person.sees(/Stopped\. Everything that ran is recorded\.[\s\S]*ready/);
    person.type("go on\r");
    await person.sees(/Going on\.[\s\S]*ready/);
  });

  test("Esc and then Enter replace what is at work by the draft", verifies("CHAT-1#keys"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    // The command does not end when it is asked to, so the run is being stopped for a moment.
    const script = [shell(`trap "" TERM; ${gate.command}`), answer("Done instead.")];
    const { person, server } = await talking(world, script, [], { env: withoutSandbox(world) });
    person.type("work\r");
    await person.answers("y", "y yes");
    await gate.begun({ ended: new Promise(() => {}) } as never);
    person.type("no, do this");
    await person.sees("> no, do this");
    person.type("\x1b");
    await person.sees("stopping… · enter: your draft is next");
    person.type("\r");
    await person.sees(/> no, do this[\s\S]*Done instead\.[\s\S]*ready/);
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("no, do this");
  });

  test("Ctrl-C clears the draft, then stops, then leaves", verifies("CHAT-1#keys"), async () => {
    const world = createWorld();
    const { person } = await atWork(world, []);
    person.type("a draft");
    await person.sees("> a draft");
    person.type("\x03");
    await person.seesNoMore("a draft");
    expect(await person.screen()).toContain("esc stops");
    person.type("\x03");
    await person.sees(/Stopped\.[\s\S]*ready/);
    person.type("\x03\x03");
    expect(await person.ended).toMatchObject({ code: 0 });
  });
});

describe("a question", () => {
  test("is answered by no paste, no Enter and no draft", verifies("CHAT-2#keys"), async () => {
    const world = createWorld();
    const { person } = await talking(world, [shell("echo x > made"), answer("Denied, then.")]);
    person.type("work\r");
    await person.reads("y yes");
    person.type("\x1b[200~y\n\x1b[201~");
    await person.sees("tab, then y yes");
    person.type("\x03");
    await person.sees("y yes");
    person.type("\r");
    person.type("n");
    await person.sees(/denied by[\s\S]*Denied, then\./);
    expect(existsSync(join(world.root, "made"))).toBe(false);
  });

  test("takes a reason, and fields that were changed; what runs was shown whole", verifies("CHAT-2#keys"), async () => {
    const world = createWorld();
    const { person, server } = await talking(world, [
      shell("echo one > made"),
      shell("echo one > made"),
      answer("So be it."),
    ]);
    person.type("work\r");
    await person.answers("r", "y yes");
    await person.sees("because >");
    person.type("wrong word\r");
    await person.sees(/denied by .*: wrong word/);
    await person.answers("e", "y yes");
    await person.sees("command > echo one > made");
    person.type("\x15echo two > made\r");
    await person.sees("shell, as you changed it:");
    expect(existsSync(join(world.root, "made"))).toBe(false);
    await person.answers("y", "y yes");
    await person.sees(/approved with changes by[\s\S]*So be it\./);
    expect(readFileSync(join(world.root, "made"), "utf8")).toBe("two\n");
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("wrong word");
  });

  test("is shown with every hidden character visible", verifies("CHAT-2#keys", "SEC-18#terminal"), async () => {
    const world = createWorld();
    const { person } = await talking(world, [shell("echo \u202ehi\x1b[2J\u200b"), answer("Done.")]);
    person.type("work\r");
    await person.sees("command: echo \\u{202e}hi\\x1b[2J\\u{200b}");
  });

  test("can be answered from another terminal, and the run goes on here", verifies("CHAT-2#keys"), async () => {
    const world = createWorld();
    const { person } = await talking(world, [shell("echo x > made"), answer("It was approved.")]);
    person.type("work\r");
    await person.sees("y yes");
    const [call] = parseJsonLines((await world.pawl(["approvals", "--json"])).stdout);
    expect(await world.pawl(["approve", call.id])).toMatchObject({ code: 0 });
    await person.sees(/approved by[\s\S]*It was approved\.[\s\S]*ready/);
  });
});

describe("a kill", () => {
  test(
    "loses nothing: --continue shows the same session, and nothing runs twice",
    verifies("CHAT-1#kill"),
    async () => {
      const world = createWorld();
      const gate = createGate(world.root);
      const script: Script = (request) => {
        const said = JSON.stringify(request.body.messages);
        if (said.includes('"role":"tool"')) return answer("I know that it was interrupted.");
        return { ...shell(`echo ran >> count; ${gate.command}`), text: "Before the kill." };
      };
      const { person, env } = await talking(world, script);
      person.type("work\r");
      await person.answers("y", "y yes");
      await gate.begun({ ended: new Promise(() => {}) } as never);
      person.kill("SIGKILL");
      await person.ended;
      const again = openPawl(world, ["--continue", "--model", "openai-compatible/test"], { env });
      await again.sees(/I know that it was interrupted\.[\s\S]*ready/);
      const lines = await again.history();
      for (const expected of [
        "> work",
        "Before the kill.",
        "Continued after an interruption.",
        "I know that it was interrupted.",
      ])
        expect(
          lines.filter((line) => line.trimEnd() === expected),
          expected,
        ).toHaveLength(1);
      expect(readFileSync(join(world.root, "count"), "utf8")).toBe("ran\n");
    },
  );

  test("at a question leaves the question, which --continue asks again", verifies("CHAT-1#kill"), async () => {
    const world = createWorld();
    const { person, env } = await talking(world, [shell("echo x > made"), answer("Done now.")]);
    person.type("work\r");
    await person.sees("y yes");
    person.kill("SIGKILL");
    await person.ended;
    const again = openPawl(world, ["--continue", "--model", "openai-compatible/test"], { env });
    await again.answers("y", "y yes");
    await again.sees(/Done now\.[\s\S]*ready/);
    expect((await eventsOf(world)).filter(({ type }) => type === "answered")).toHaveLength(1);
  });

  test("by SIGTERM gives the terminal's modes back, and so does leaving", verifies("CHAT-1#kill"), async () => {
    const world = createWorld();
    const { person } = await talking(world, []);
    person.kill("SIGTERM");
    expect(await person.ended).toMatchObject({ code: 0 });
    const sent = person.bytes();
    for (const [on, off] of [
      ["\x1b[?2004h", "\x1b[?2004l"],
      ["\x1b[>1u", "\x1b[<u"],
      ["\x1b[?25l", "\x1b[?25h"],
      ["\x1b[?7l", "\x1b[?7h"],
    ] as const)
      expect(sent.lastIndexOf(off)).toBeGreaterThan(sent.lastIndexOf(on));
  });
});

test("Ctrl-Z gives the terminal back to the shell, and fg shows the draft again", verifies("CHAT-1#kill"), async () => {
  const world = createWorld();
  const person = openProgram(world, "sh", ["-i"], { env: { PS1: "$ " } });
  person.type(`${pawlCommand} --model demo\r`);
  await person.sees("ready");
  person.type("a draft");
  await person.sees("> a draft");
  person.type("\x1a");
  await person.sees(/(?:Stopped|Suspended)[\s\S]*\$$/);
  person.type("fg\r");
  await person.sees(/> a draft\nready/);
  person.type("\x03/quit\r");
  await person.seesNoMore("ready");
});

test("resizes in mid-stream lose no line and double none", verifies("CHAT-1#screen"), async () => {
  const world = createWorld();
  const paragraphs = Array.from(
    { length: 60 },
    (_, at) => `Paragraph ${at} has some words that wrap when it is narrow, and more of them.`,
  );
  const { person } = await talking(world, [answer(paragraphs.join("\n\n")), answer("Over.")]);
  person.type("talk\r");
  for (const columns of [70, 60, 50, 64, 90, 120, 100, 80]) {
    person.resize(columns, 24);
    await new Promise((done) => setTimeout(done, 40));
  }
  await person.sees("ready");
  person.type("end\r");
  await person.sees(/Over\.[\s\S]*ready/);
  const all = (await person.history()).join(" ");
  for (let at = 0; at < 60; at++) expect(all.split(`Paragraph ${at} has`)).toHaveLength(2);
});

describe("commands", () => {
  test("the ones there are, what is near, and a picker of sessions", verifies("CHAT-1#keys"), async () => {
    const world = createWorld();
    const { person } = await talking(world, [
      { ...answer("One."), usage: { input: 1_200, output: 34 } },
      answer("Two."),
    ]);
    person.type("first task\r");
    await person.sees(/One\.[\s\S]*ready/);
    person.type("/hlep\r");
    await person.sees("There is no command /hlep. Did you mean /help? Nothing was sent.");
    person.type("/st");
    await person.sees("/status");
    person.type("\t\r");
    await person.sees(/version[\s\S]*openai-compatible\/test/);
    person.type("/cost\r");
    await person.sees(/session +1,234 tokens, cost unknown\n/);
    await person.sees(/openai-compatible\/test +1,234 tokens, cost unknown, 1 call\n/);
    person.type("/tools\r");
    await person.sees("edit_file");
    person.type("/export log.jsonl\r");
    await person.sees("Wrote ");
    expect(parseJsonLines(readFileSync(join(world.root, "log.jsonl"), "utf8"))[0]).toMatchObject({ seq: 1 });
    person.type("/new\r");
    await person.sees("new session");
    person.type("second task\r");
    await person.sees(/Two\.[\s\S]*ready/);
    person.type("/resume\r");
    await person.sees("resume ›");
    person.type("first");
    await person.sees(/› .*first task/);
    person.type("\r");
    await person.sees(/> first task\n+One\.[\s\S]*ready/);
    person.type("/quit\r");
    expect(await person.ended).toMatchObject({ code: 0 });
  });
});
