/**
 * Commands of the conversation with which a person chooses: what a run may cost, how much the model thinks, what is trusted,
 * what is approved, and what is kept of a long conversation. In a pseudo-terminal, with a local server as the model.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { startConversation } from "./conversation.js";
import { openPawl } from "./pseudo-terminal.js";

const answer = (text: string, output = 10) => ({ type: "answer", text, usage: { input: 20, output } }) as const;
const look = (output: number) =>
  ({ type: "answer", calls: [{ name: "list_files", input: {} }], usage: { input: 20, output } }) as const;
const touch = (file: string) =>
  ({ type: "answer", calls: [{ name: "shell", input: { command: `touch ${file}` } }] }) as const;

async function talking(world: World, script: Script, rows = 40) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const person = openPawl(world, ["--model", "openai-compatible/test"], {
    rows,
    env: { OPENAI_BASE_URL: server.baseURL },
  });
  await person.sees("ready");
  return { person, requests: server.requests };
}

/** A model that costs $10 for a million tokens of answers. */
async function talkingForMoney(world: World, script: Script, args: readonly string[] = []) {
  const server = await startProviderServer("anthropic-messages", script);
  onTestFinished(() => server.close());
  const env = { ANTHROPIC_BASE_URL: server.baseURL, ANTHROPIC_API_KEY: "test-key" };
  const person = openPawl(world, ["--model", "anthropic/claude-sonnet-5-5", ...args], { rows: 40, env });
  await person.sees("ready");
  return { person, requests: server.requests };
}

async function sessionsOf(world: World) {
  return parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
}

async function eventsOf(world: World, sessionId: string) {
  return parseJsonLines((await world.pawl(["sessions", "export", sessionId])).stdout).map(({ event }) => event);
}

test("/budget ends the next runs, in this session and after a resume", verifies("CHAT-3#choices"), async () => {
  const world = createWorld();
  const first = await talkingForMoney(world, [look(100_000), look(100_000), answer("Never said.")]);
  first.person.type("/budget\r");
  await first.person.sees("A run may cost any amount. To change it: /budget $2, or /budget off");
  first.person.type("/budget much\r");
  await first.person.sees("/budget takes an amount of US dollars");
  first.person.type("/budget $1.50\r");
  await first.person.sees("From the next run on, a run ends when it has cost $1.50.");
  first.person.type("go\r");
  await first.person.sees(/limit of cost[\s\S]*ready/i);
  first.person.type("\x03\x04");
  await first.person.ended;

  const second = await talkingForMoney(world, [look(200_000), answer("Never said.")], ["-c"]);
  second.person.type("/budget\r");
  await second.person.sees("A run ends when it has cost $1.50.");
  second.person.type("go on\r");
  await second.person.sees(/> go on[\s\S]*limit of cost[\s\S]*ready/i);
  second.person.type("/budget off\r");
  await second.person.sees("A run may cost any amount from now on.");
});

test("/budget stops the run that is under way, when it has cost that much", verifies("CHAT-3#choices"), async () => {
  const world = createWorld();
  const costly = { ...touch("made"), usage: { input: 20, output: 100_000 } };
  const { person, requests } = await talkingForMoney(world, [costly, look(100_000), answer("Never said.")]);
  person.type("go\r");
  await person.sees(/y yes/);
  person.type("/budget $1.50\r");
  await person.sees("From this run on, a run ends when it has cost $1.50.");
  await person.answers("y", "y yes");
  await person.sees(/This run has cost \$2\.00, and its budget is \$1\.50\.[\s\S]*ready/);
  expect(existsSync(join(world.root, "made"))).toBe(true);
  expect(requests.length).toBeLessThanOrEqual(3);
  const [session] = await sessionsOf(world);
  expect(await eventsOf(world, session.sessionId)).toContainEqual(
    expect.objectContaining({ type: "abort_requested", note: "the budget of $1.50 is spent" }),
  );
});

test("/effort says how much the model thinks in the next runs", verifies("CHAT-3#choices"), async () => {
  const world = createWorld();
  const { person, requests } = await talking(world, [answer("One."), answer("Two.")]);
  person.type("/effort\r");
  await person.sees(/effort ›[\s\S]*default \(now\)[\s\S]*high/);
  person.type("high");
  await person.sees("› high");
  person.type("\r");
  await person.sees("How much the model thinks, from the next message on: high");
  person.type("first\r");
  await person.sees(/One\.[\s\S]*ready/);
  expect(requests[0]?.body).toMatchObject({ reasoning_effort: "high" });
  person.type("/effort default\r");
  await person.sees("from the next message on: default");
  person.type("second\r");
  await person.sees(/Two\.[\s\S]*ready/);
  expect(requests[1]?.body).not.toHaveProperty("reasoning_effort");
  person.type("/effort very\r");
  await person.sees("/effort takes low, medium, high, or default");
});

test.each([
  { shape: "anthropic-messages", model: "anthropic/claude-sonnet-5-5", asked: { output_config: { effort: "high" } } },
  {
    shape: "google-generate-content",
    model: "google/gemini-flash-latest",
    asked: { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } },
  },
] as const)(
  "/effort is in a request of $model in that provider's own words",
  verifies("CHAT-3#choices"),
  async (given) => {
    const world = createWorld();
    const server = await startProviderServer(given.shape, [answer("One."), answer("Two.")]);
    onTestFinished(() => server.close());
    const person = openPawl(world, ["--model", given.model], {
      rows: 40,
      env: {
        ANTHROPIC_BASE_URL: server.baseURL,
        ANTHROPIC_API_KEY: "test-key",
        GOOGLE_GENERATIVE_AI_BASE_URL: server.baseURL,
        GOOGLE_GENERATIVE_AI_API_KEY: "test-key",
      },
    });
    await person.sees("ready");
    person.type("first\r");
    await person.sees(/One\.[\s\S]*ready/);
    expect(JSON.stringify(server.requests[0]?.body)).not.toMatch(/effort|thinkingLevel/);
    person.type("/effort high\r");
    await person.sees("from the next message on: high");
    person.type("second\r");
    await person.sees(/Two\.[\s\S]*ready/);
    expect(server.requests[1]?.body).toMatchObject(given.asked);
  },
);

test(
  "/rename gives the session a title, which /resume, pawl sessions and a later process have",
  verifies("CHAT-3#sessions"),
  async () => {
    const world = createWorld();
    const { person } = await talking(world, [answer("One.")]);
    person.type("/rename too early\r");
    await person.sees("The session has not begun yet");
    person.type("fix the build\r");
    await person.sees(/One\.[\s\S]*ready/);
    person.type("/rename\r");
    await person.sees("This session is called: fix the build. To change it: /rename TITLE");
    person.type("/rename The build of March\r");
    await person.sees("This session is now called: The build of March");
    const [session] = await sessionsOf(world);
    expect(session.info.title).toBe("The build of March");
    expect((await world.pawl(["sessions"])).stdout).toContain("The build of March");
    expect(await eventsOf(world, session.sessionId)).toContainEqual(
      expect.objectContaining({ type: "session_changed", title: "The build of March" }),
    );
    // The second line waits for the session that the first one begins: the list has all others.
    person.type("/new\r/resume\r");
    await person.sees(/resume ›[\s\S]*The build of March/);
  },
);

test(
  "/model has a list of what has a key or a server here, and goes on with the one that is chosen",
  verifies("CHAT-3#choices"),
  async () => {
    const world = createWorld();
    const { person, requests } = await talkingForMoney(world, [answer("One."), answer("Two.")]);
    person.type("first\r");
    await person.sees(/One\.[\s\S]*ready/);
    person.type("/model\r");
    await person.sees(/model ›[\s\S]*anthropic\/claude-sonnet-5-5 · now[\s\S]*ANTHROPIC_API_KEY is set/);
    person.type("haiku-4");
    await person.sees("› anthropic/claude-haiku-4-5");
    person.type("\r");
    await person.sees(/anthropic\/claude-haiku-4-5 · \/[\s\S]*One\.[\s\S]*ready/);
    person.type("second\r");
    await person.sees(/Two\.[\s\S]*ready/);
    expect(requests.map(({ body }) => (body as { readonly model: string }).model)).toEqual([
      "claude-sonnet-5-5",
      "claude-haiku-4-5",
    ]);
    person.type("/model\r");
    await person.sees(/model ›/);
    person.type("\x1b");
    await person.sees("To change it: /model provider/name");
  },
);

test("/approve answers what waits in another session", verifies("CHAT-3#people"), async () => {
  const world = createWorld();
  const other = await talking(world, [touch("one"), answer("The other is done.")]);
  other.person.type("touch it\r");
  await other.person.sees(/y yes/);
  const { person } = await talking(world, []);
  person.type("/approve\r");
  await person.sees(/approve ›[\s\S]*shell touch one {2}needs approval/);
  person.type("\r");
  await person.sees(/touch one[\s\S]*answer ›[\s\S]*› leave it waiting/);
  person.type("\r");
  await person.sees("Nothing was answered.");
  person.type("/approve\r");
  await person.sees(/approve ›/);
  person.type("\r");
  await person.sees(/answer ›/);
  person.type("yes");
  await person.sees("› yes");
  person.type("\r");
  await person.sees(/Approved .*\(shell\)\.[\s\S]*The session continues where it is open/);
  await other.person.sees(/The other is done\.[\s\S]*ready/);
  expect(existsSync(join(world.root, "one"))).toBe(true);
  person.type("/approve\r");
  await person.sees("No call waits for an answer, in any session.");
});

test("/approve ID TEXT denies with a reason, and says who goes on", verifies("CHAT-3#people"), async () => {
  const world = createWorld({ "notes.txt": "old\n" });
  const run = await world.pawl(["run", "--model", "demo", "--park", 'Replace "old" with "new" in notes.txt']);
  expect(run.code).toBe(3);
  const [waiting] = parseJsonLines((await world.pawl(["approvals", "--json"])).stdout);
  const { person } = await talking(world, []);
  person.type(`/approve ${waiting.id} not in this folder\r`);
  await person.sees(/answer ›[\s\S]*no, because: not in this folder/);
  person.type("because");
  await person.sees("› no, because: not in this folder");
  person.type("\r");
  await person.sees(/Denied .*[\s\S]*The session continues where it is open/);
  expect((await world.pawl(["approvals"])).stderr).toContain("No call waits");
  person.type("/approve nothing\r");
  await person.sees("No call waits for an answer, in any session.");
});

test(
  "/trust shows what the folder brings, trusts it, and takes the trust away",
  verifies("CHAT-4#settings"),
  async () => {
    const world = createWorld({ "pawl.config.json": '{ "limits": { "maxSteps": 1 } }' });
    const { person } = await talking(world, [look(1), answer("Never said."), look(1), answer("Done.")]);
    await person.sees(/trust ›/);
    person.type("\r");
    await person.sees("Not trusted, so it is off. To review it later: /trust");
    person.type("/trust\r");
    await person.sees(/trust ›[\s\S]*› not now/);
    person.type("trust it");
    await person.sees("› trust it, exactly as it is now");
    person.type("\r");
    await person.seesNoMore("trust ›");
    await person.sees("ready");
    person.type("go\r");
    await person.sees(/limit of steps[\s\S]*ready/i);
    const shown = JSON.parse((await world.pawl(["trust", "--show", "--json"])).stdout);
    expect(shown.isTrusted).toBe(true);
    person.type("/trust\r");
    await person.sees(/Trusted, as it is now\.\n+To revoke the trust: \/trust revoke/);
    person.type("/trust revoke\r");
    await person.sees("Nothing in this folder is trusted any more.");
    expect(JSON.parse((await world.pawl(["trust", "--show", "--json"])).stdout).isTrusted).toBe(false);
  },
);

test("/skills lists the skills and the folders that they are from", verifies("CHAT-3#look"), async () => {
  const skill = (name: string) => `---\nname: ${name}\ndescription: How to ${name} here.\n---\nDo it.\n`;
  const world = createWorld({ ".agents/skills/release/SKILL.md": skill("release") });
  const { person } = await talking(world, []);
  person.type("/skills\r");
  await person.sees(/in .*\.agents\/skills\n- release: How to release here\./);
  const none = await talking(createWorld(), []);
  none.person.type("/ski\t\r");
  await none.person.sees("There are no skills. A skill is a folder with a SKILL.md");
});

test(
  "/compact WHAT TO KEEP sums the conversation up, and the next message goes on from it; /context tells what was left out",
  verifies("CHAT-3#compact", "CHAT-3#look"),
  async () => {
    const world = createWorld({ "AGENTS.md": `${"Use tabs in this folder. ".repeat(40)}\n` });
    const long = `The first answer. ${"It is long. ".repeat(400)}`;
    const said = [long, "Second answer.", "SUMMARY: keep the port 8123.", "Third answer."];
    const script = said.map((text) => ({ type: "answer", text }) as const);
    const { person, requests } = await talking(world, script);
    const tokensOf = (screen: string, part: string) => Number(new RegExp(`${part} +(\\d+) tokens`).exec(screen)?.[1]);
    const textOf = (at: number) => JSON.stringify(requests[at]?.body.messages);
    person.type("/compact\r");
    await person.sees("There is nothing to summarize yet.");
    person.type("first\r");
    await person.sees(/It is long\.[\s\S]*ready/);
    person.type("second\r");
    await person.sees(/Second answer\.[\s\S]*ready/);
    person.type("/compact the port of the server\r");
    await person.sees(/Summarized \d+ messages[\s\S]*ready/);
    expect(textOf(2)).toContain("the port of the server");
    person.type("third\r");
    await person.sees(/Third answer\.[\s\S]*ready/);
    expect(textOf(3)).toContain("SUMMARY: keep the port 8123.");
    expect(textOf(3)).not.toContain("It is long. It is long.");
    person.type("/context\r");
    await person.sees(
      /The last request to the model, estimated[\s\S]*Summarized \d+ messages to make room[\s\S]*ready/,
    );
    const screen = await person.screen();
    // 40 times about 6 tokens, beside a prompt that is at least as long.
    expect(tokensOf(screen, "AGENTS\\.md")).toBeGreaterThan(120);
    expect(tokensOf(screen, "AGENTS\\.md")).toBeLessThan(480);
    expect(tokensOf(screen, "system prompt")).toBeGreaterThan(100);
    const [session] = await sessionsOf(world);
    expect(await eventsOf(world, session.sessionId)).toContainEqual(
      expect.objectContaining({ type: "compaction_requested", keep: "the port of the server" }),
    );
  },
);

test(
  "a notification on the desktop says that a call waits while the window has no focus, unless ui.notify is off",
  verifies("CHAT-4#settings"),
  async () => {
    const notices = [];
    for (const setting of ["auto", "off"]) {
      const world = createWorld();
      await world.pawl(["config", "set", "ui.notify", setting]);
      const write = { name: "write_file", input: { path: "a.md", content: "x" } };
      const script: Script = [{ type: "answer", calls: [write] }, answer("Done.")];
      const { person } = await startConversation(world, script, [], { TERM_PROGRAM: "iTerm.app" });
      // The window loses the focus.
      person.type("\x1b[O");
      person.type("write\r");
      await person.sees(/write_file[\s\S]*y yes/);
      const bytes = person.bytes();
      notices.push(bytes.match(/\x1b\]9;[^\x1b]*\x1b\\/g));
      expect(bytes.includes("\x1b[?1004h")).toBe(setting === "auto");
      person.kill("SIGTERM");
      await person.ended;
      expect(person.bytes().includes("\x1b[?1004l")).toBe(setting === "auto");
    }
    expect(notices).toEqual([["\x1b]9;Pawl waits for your answer: write_file\x1b\\"], null]);
  },
);

test("ui.bell rings when a call waits, and only if it is set", verifies("CHAT-4#settings"), async () => {
  for (const rings of [false, true]) {
    const world = createWorld();
    if (rings) await world.pawl(["config", "set", "ui.bell", "when-waiting"]);
    const write = { name: "write_file", input: { path: "a.md", content: "x" } };
    const { person } = await talking(world, [{ type: "answer", calls: [write] }, answer("Done.")]);
    person.type("write\r");
    await person.sees(/write_file[\s\S]*y yes/);
    // A command to the terminal may end with the same character.
    const plain = person.bytes().replace(/\x1b\][^\x07]*\x07/g, "");
    expect(plain.split("\x07").length - 1).toBe(rings ? 1 : 0);
  }
});
