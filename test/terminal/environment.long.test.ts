/**
 * The line about the environment in the prompt of the terminal's agent, in a pseudo-terminal and with a server that speaks OpenAI's
 * protocol.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, parseJsonLines } from "../cli/pawl.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

type Sent = { readonly role: string; readonly content: unknown };

async function startWorld() {
  const server = await startProviderServer("openai-chat", (_, turn) => ({ type: "answer", text: `Answer ${turn}.` }));
  onTestFinished(() => server.close());
  const world = createWorld({ "a.txt": "one\n" });
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: world.root });
  git("init", "--quiet", "--initial-branch", "main");
  git("add", ".");
  git("commit", "--quiet", "--message", "One");
  const open = (TZ: string) =>
    openPawl(world, ["--model", "openai-compatible/test"], {
      env: { OPENAI_BASE_URL: server.baseURL, TZ },
    });
  const sent = () => server.requests.map(({ body }) => body.messages as readonly Sent[]);
  return { world, git, open, sent };
}

const promptOf = (messages: readonly Sent[] | undefined) => String(messages?.[0]?.content);
const textOf = (messages: readonly Sent[] | undefined) =>
  (messages ?? []).map(({ role, content }) => (role === "system" ? "" : JSON.stringify(content))).join();
/** A text about what has changed, in JSON. */
const said = (name: string, text = "") => new RegExp(`\\[begin \\w{16}: (?:${name}), [^\\]]*\\]\\\\n${text}`);
const lineIn = (prompt: string) => /^\d{4}-\d\d-\d\d, .*$/m.exec(prompt)?.[0] ?? "";

test(
  "a session's prompt names the day, the system and the branch of its start; later runs are told another day and branch once",
  verifies("COST-3"),
  async () => {
    const { world, git, open, sent } = await startWorld();
    writeFileSync(join(world.root, "a.txt"), "two\n");
    writeFileSync(join(world.root, "b.txt"), "new\n");
    // These two time zones are 26 hours apart: in the second it is always a later day.
    const first = open("Etc/GMT+12");
    await first.sees("ready");
    first.type("one\r");
    await first.sees(/Answer 1\.[\s\S]*ready/);
    git("checkout", "--quiet", "-b", "other");
    first.type("two\r");
    await first.sees(/Answer 2\.[\s\S]*ready/);
    first.kill("SIGKILL");
    const [session] = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
    const second = open("Pacific/Kiritimati");
    await second.sees("ready");
    second.type(`/resume ${session.sessionId}\r`);
    await second.sees(/Answer 2\.[\s\S]*ready/);
    second.type("three\r");
    await second.sees(/Answer 3\.[\s\S]*ready/);
    const [one, two, three] = sent();
    const system = process.platform === "darwin" ? "macOS" : "Linux";
    const line = lineIn(promptOf(one));
    expect(line).toMatch(
      new RegExp(
        `^\\d{4}-\\d\\d-\\d\\d, ${system} ${arch()}(, (ba)?sh)?; git: main, 2 files changed when the session began$`,
      ),
    );
    expect(textOf(one)).not.toMatch(said("branch|date"));
    expect(promptOf(two)).toBe(promptOf(one));
    expect(textOf(two)).toMatch(said("branch", "other"));
    expect(promptOf(three)).toBe(promptOf(one));
    expect(three?.slice(0, two?.length)).toEqual(two);
    const added = textOf(three?.slice(two?.length));
    const [, day = ""] = said("date", "(\\d{4}-\\d\\d-\\d\\d)").exec(added) ?? [];
    expect(day > line.slice(0, 10)).toBe(true);
    expect(added, "the branch is still the one that was told").not.toMatch(said("branch"));
    expect(await world.pawl(["replay", session.sessionId, "--allow-shell"])).toMatchObject({ code: 0 });
  },
);

test("a repository whose settings name a program is not asked for its branch", verifies("COST-3"), async () => {
  const { git, open, sent } = await startWorld();
  git("config", "filter.x.clean", "touch ran");
  const person = open("UTC");
  await person.sees("ready");
  person.type("one\r");
  await person.sees(/Answer 1\.[\s\S]*ready/);
  expect(lineIn(promptOf(sent()[0]))).toMatch(/^\d{4}-\d\d-\d\d, [^;]*$/);
});
