import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, type ExitResult, parseJsonLines } from "./pawl.js";

/** Whether a person sees what happened, and no stack. */
function isPlain({ stdout, stderr }: ExitResult): boolean {
  return !/\n\s+at .*[:(]|node:internal|Error: /.test(stdout + stderr);
}

describe("help", () => {
  test.each([
    [["run"], "pawl run --yes --json"],
    [["resume"], "pawl resume 3f8c"],
    [["abort"], "pawl abort 3f8c"],
    [["sessions"], "pawl sessions show 3f8c"],
    [["sessions", "show"], "pawl sessions show 3f8c --json"],
    [["sessions", "export"], "pawl sessions export 3f8c > log.jsonl"],
    [["sessions", "delete"], "pawl sessions delete 3f8c"],
    [["doctor"], "pawl doctor --json"],
    [[], 'pawl run "Find the TODO comments under src'],
  ])("of %j shows an example, and its options", verifies("CLI-4#part-1"), async (command, example) => {
    const { code, stdout, stderr } = await createWorld().pawl([...command, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Examples:\n  $ pawl");
    expect(stdout).toContain(example);
    expect(stdout).toContain("--debug");
  });

  test.each([
    ["approvals", "pawl approvals 3f8c"],
    ["approve", "pawl approve 3f8c/1/2 --edit"],
    ["deny", 'pawl deny 3f8c --note "Use a branch"'],
    ["steer", 'pawl steer 3f8c "Leave the tests alone"'],
    ["fork", "pawl fork 3f8c --at 12"],
    ["worker", "pawl worker --once"],
  ])("of %s shows an example, its options, and --json", verifies("CLI-4#part-2"), async (command, example) => {
    const { code, stdout, stderr } = await createWorld().pawl([command, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Examples:\n  $ pawl");
    expect(stdout).toContain(example);
    expect(stdout).toContain("--json");
  });

  test("of every command fits a terminal of 80 columns", verifies("CLI-4#part-1"), async () => {
    const world = createWorld();
    const { stdout: script } = await world.pawl(["completion", "bash"]);
    const commands = [...script.matchAll(/^ {4}'pawl( [a-z ]+)?'\)$/gm)].map(([, words = ""]) => words.trim());
    expect(commands.length).toBeGreaterThan(30);
    const remaining = commands.filter((words) => !/\bhelp\b/.test(words));
    const wide: string[] = [];
    const checkRemaining = async () => {
      for (let command = remaining.pop(); command !== undefined; command = remaining.pop()) {
        const words = command === "" ? [] : command.split(" ");
        const { stdout } = await world.pawl([...words, "--help"], { env: { COLUMNS: "80" } });
        expect(stdout).toContain("Usage: pawl");
        wide.push(...stdout.split("\n").filter((line) => line.length > 80));
      }
    };
    await Promise.all([checkRemaining(), checkRemaining(), checkRemaining(), checkRemaining()]);
    expect(wide).toEqual([]);
  });

  test("pawl alone shows it, as a mistake", async () => {
    const { code, stderr } = await createWorld().pawl([]);
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: pawl");
    expect(stderr).toContain("a conversation needs a terminal");
  });

  test("an option of a conversation without a terminal shows the reason alone", async () => {
    const { code, stderr } = await createWorld().pawl(["--continue"]);
    expect(code).toBe(2);
    expect(stderr).toContain("a conversation needs a terminal");
    expect(stderr).not.toContain("Usage: pawl");
  });

  test("of a command within a command", async () => {
    const world = createWorld();
    const [asWords, asOption] = await Promise.all([
      world.pawl(["help", "sessions", "show"]),
      world.pawl(["sessions", "show", "--help"]),
    ]);
    expect(asWords).toEqual(asOption);
    expect(asWords.stdout).toContain("Usage: pawl sessions show");
  });

  test("--version is the package's", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await createWorld().pawl(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

describe("a mistake in the command line ends with 2 and says what would be right", () => {
  test.each([
    ["an unknown command", ["rnu"], "Did you mean run?"],
    [
      "words without a command, and no terminal",
      ["rnu", "x"],
      'a conversation needs a terminal. Without one, give the task to "pawl run"',
    ],
    ["an unknown command of a command that also works alone", ["sessions", "shwo", "3f8c"], "Did you mean show?"],
    ["an unknown command of a command that serves", ["mcp", "tset", "docs"], "Did you mean test?"],
    ["help for an unknown command", ["help", "rnu"], "Did you mean run?"],
    ["help for an unknown command of a command", ["help", "sessions", "shwo"], "Did you mean show?"],
    [
      "an option of a command before its name",
      ["--deny", "list_files", "run", "x"],
      "option '--deny' has to follow the command: pawl run --deny <rule>",
    ],
    [
      "a short option of a command before its name",
      ["-c", "run", "x"],
      "option '--continue' has to follow the command: pawl run --continue",
    ],
    [
      "an option before a command within a command",
      ["--root", ".", "sandbox", "clean"],
      "option '--root' has to follow the command: pawl sandbox --root <folder>",
    ],
    ["a word after a list", ["sessions", "list", "3f8c"], "unknown command '3f8c'"],
    [
      "an option before a command that does not have it",
      ["--yes", "sessions"],
      "'pawl sessions' has no option '--yes'",
    ],
    ["two sessions to continue", ["run", "x", "-c", "--session", "s"], "cannot be used with option '--session <id>'"],
    [
      "two sessions for a conversation",
      ["--continue", "--session", "s"],
      "cannot be used with option '--session <id>'",
    ],
    ["an unknown option", ["run", "--jsno", "x"], "Did you mean --json?"],
    ["an unknown option of a command within one", ["sessions", "show", "x", "--jsno"], "--json"],
    ["too many arguments", ["resume", "a", "b"], "too many arguments"],
    ["a missing argument", ["abort"], "missing required argument 'id'"],
    ["no session to resume", ["resume"], "No session has worked in"],
    ["a missing value", ["run", "--model"], "argument missing"],
    ["no number", ["run", "x", "--max-steps", "many"], "whole number, 1 or more"],
    ["no amount", ["run", "x", "--max-cost", "0"], "US dollars above 0"],
    ["no time", ["run", "x", "--max-wall-clock", "90"], "length of time"],
    ["a number out of bounds", ["run", "x", "--max-steps", "0"], "whole number, 1 or more"],
    ["an unknown model", ["run", "x", "--model", "nothing"], 'Unknown model "nothing". Use provider/model'],
    ["a misspelled model", ["run", "x", "--model", "demoo"], 'Unknown model "demoo". Did you mean demo?'],
    [
      "a file in place of the folder",
      ["run", "x", "--root", "a.txt"],
      "a.txt is not a folder. Give an existing folder",
    ],
    [
      "a limit in dollars for a model without a known price",
      ["run", "x", "--max-cost", "1", "--model", "ollama/x"],
      "--max-cost needs a model whose price is known, and that of ollama/x is not.",
    ],
    ["an unknown session", ["resume", "nothing"], 'There is no session "nothing"'],
    ["an unknown session to answer", ["approve", "nothing"], 'There is no session "nothing"'],
    ["an unknown session to steer", ["steer", "nothing", "x"], 'There is no session "nothing"'],
    ["no message", ["steer", "nothing"], "There is no message"],
    ["an unknown session to fork", ["fork", "nothing"], 'There is no session "nothing"'],
    ["no entry", ["fork", "nothing", "--at", "0"], "whole number, 1 or more"],
    ["an unknown session to abort", ["abort", "nothing"], '"pawl sessions --all" lists'],
  ])("%s", verifies("CLI-3"), async (_, args, what) => {
    const ended = await createWorld({ "a.txt": "" }).pawl(args);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(what);
    expect(isPlain(ended)).toBe(true);
  });
});

describe("words that are no mistake", () => {
  test.each(["sessions", "agents", "permissions", "hooks", "config"])("list after pawl %s", async (command) => {
    const world = createWorld();
    await world.pawl(["run", "List the files", "--session", "s"]);
    const alone = await world.pawl([command]);
    expect(alone.code).toBe(0);
    expect(await world.pawl([command, "list"])).toEqual(alone);
  });

  test.each([["--store", "other.db"], ["--debug"]])("%s before the command", async (...option) => {
    const world = createWorld();
    expect(await world.pawl([...option, "run", "List the files", "--session", "s"])).toMatchObject({ code: 0 });
    const listed = await world.pawl([...option, "sessions"]);
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("List the files") });
  });
});

describe("surroundings that fail end with 5 and say what to do", () => {
  test.each([["run", "List the files"], ["sessions"], ["resume", "s"], ["abort", "s"]])(
    "a home that cannot be made: pawl %s",
    async (...args) => {
      const world = createWorld({ file: "" });
      const ended = await world.pawl(args, { env: { PAWL_HOME: join(world.root, "file", "home") } });
      expect(ended.code).toBe(5);
      expect(ended.stderr).toMatch(/^pawl: The store .*sessions\.db could not be opened: .*Check that its folder/);
      expect(isPlain(ended)).toBe(true);
    },
  );

  test.each([
    [
      "foreign",
      "this is no database, but long enough to be taken for one by its size".repeat(20),
      "not a SQLite database",
    ],
    ["damaged", null, "damaged"],
  ])("a %s file of sessions", verifies("STOR-4"), async (_, content, what) => {
    const world = createWorld();
    const file = join(world.home, "sessions.db");
    if (content === null) {
      await world.pawl(["run", "List the files", "--session", "s"]);
      const bytes = readFileSync(file);
      // Damages the pages of the tables: everything after the header.
      bytes.fill(0xa5, 100);
      writeFileSync(file, bytes);
      // If the library leaves the write-ahead log behind, that has copies of the same pages.
      for (const rest of ["-wal", "-shm"]) rmSync(`${file}${rest}`, { force: true });
    } else {
      mkdirSync(world.home);
      writeFileSync(file, content);
    }
    const before = readFileSync(file);
    const ended = await world.pawl(["run", "List the files"]);
    expect(ended.code).toBe(5);
    expect(ended.stderr).toContain(what);
    expect(isPlain(ended)).toBe(true);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("--debug shows where it comes from", async () => {
    const world = createWorld({ file: "" });
    const ended = await world.pawl(["sessions", "--debug"], { env: { PAWL_HOME: join(world.root, "file", "home") } });
    expect(ended.code).toBe(5);
    expect(ended.stderr).toMatch(/\n\s+at /);
  });
});

describe("where sessions are kept", () => {
  test("under XDG_DATA_HOME, or under the default of that standard", async () => {
    const { base, pawl } = createWorld();
    const named = await pawl(["doctor", "--json"], { env: { PAWL_HOME: "", XDG_DATA_HOME: join(base, "data") } });
    expect(parseJsonLines(named.stdout)[0].home).toBe(join(base, "data", "pawl"));
    const usual = await pawl(["doctor", "--json"], { env: { PAWL_HOME: "", XDG_DATA_HOME: "relative" } });
    expect(parseJsonLines(usual.stdout)[0].home).toBe(join(base, ".local", "share", "pawl"));
  });
});

describe("pawl doctor", () => {
  test("says what is there", verifies("CLI-4#part-1"), async () => {
    const { home, pawl } = createWorld();
    await pawl(["run", "List the files"]);
    const { code, stdout } = await pawl(["doctor"], { env: { OPENAI_API_KEY: "sk-secret-0001" } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ node +Node v\d+/);
    expect(stdout).toContain(`✓ sessions  1 session in ${join(home, "sessions.db")}`);
    expect(stdout).toMatch(
      /✓ sqlite +SQLite \d.* by (libsql|node:sqlite), journal mode (truncate|wal), tables 4, log format 2/,
    );
    expect(stdout).toMatch(/✓ files .* is 0700, .* is 0600/);
    expect(stdout).toMatch(/✓ writing +a synced write took [\d.]+ ms/);
    expect(stdout).toContain("set: OPENAI_API_KEY");
    expect(stdout).toContain("no model server answers");
    expect(stdout).toMatch(/(✓|•) sandbox/);
    expect(stdout).toMatch(/✓ people +no call waits for an answer/);
    expect(stdout).toMatch(/✓ due +no session is due/);
    expect(stdout).toContain("No problems found.");
    expect(stdout).not.toContain("sk-secret-0001");
  });

  test("tells the formats of the file to programs too", verifies("CLI-4#part-1"), async () => {
    const { pawl } = createWorld();
    const details = async () => {
      const [{ checks }] = parseJsonLines((await pawl(["doctor", "--json"])).stdout);
      return checks.find(({ name }: { readonly name: string }) => name === "sqlite").details;
    };
    expect(await details()).toEqual({ tables: 4, format: null });
    await pawl(["run", "List the files"]);
    expect(await details()).toEqual({ tables: 4, format: 2 });
  });

  test("says what waits for a person, and for a worker", async () => {
    const { pawl } = createWorld({ "notes.txt": "colour\n" });
    const park = ["run", 'Replace "colour" with "color" in notes.txt', "--park", "--session"];
    await pawl([...park, "one"]);
    await pawl([...park, "two"]);
    await pawl(["approve", "one"]);
    const { code, stdout } = await pawl(["doctor"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/• people +1 call waits: pawl approvals/);
    expect(stdout).toMatch(/• due +1 session is due: pawl worker/);
  });

  test("as JSON; names what others can read, and fails on what cannot work", async () => {
    const { root, home, pawl } = createWorld({ file: "" });
    await pawl(["sessions"]);
    chmodSync(home, 0o755);
    const open = parseJsonLines((await pawl(["doctor", "--json"])).stdout)[0];
    expect(open).toMatchObject({ ok: true, home });
    expect(open.checks).toContainEqual({ name: "files", status: "note", what: expect.stringContaining("chmod 700") });
    expect(open.checks).toContainEqual({
      name: "model",
      status: "note",
      what: expect.stringMatching(/^Using the demo model, not an LLM, because /),
    });
    const broken = await pawl(["doctor"], { env: { PAWL_HOME: join(root, "file", "home") } });
    expect(broken.code).toBe(5);
    expect(broken.stdout).toMatch(/✗ sessions .*could not be opened/);
    expect(broken.stdout).toContain("• people    not checked because of the failure under sessions\n");
    expect(broken.stdout).toContain("Problems found");
    expect(isPlain(broken)).toBe(true);
    const named = await pawl(["doctor"], { env: { PAWL_MODEL: "openai-compatible/x" } });
    expect(named.code).toBe(5);
    expect(named.stdout).toMatch(/✗ model .*needs the address of its server\. Set the variable OPENAI_BASE_URL/);
  });
});
