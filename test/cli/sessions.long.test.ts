import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAgent, createClient, createSchedules, type ToolContext } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines } from "./pawl.js";

const files = { "src/a.ts": "// TODO: one\n" };

describe("pawl sessions", () => {
  test("lists them, newest first", verifies("CLI-4#part-1"), async () => {
    const { pawl, root } = createWorld(files);
    const none = await pawl(["sessions"]);
    expect(none).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/^There are no sessions in .*sessions\.db\. Start one/),
    });
    await pawl(["run", "List the files", "--session", "first"]);
    await pawl(["run", "Count the files\nunder \u001b[31msrc", "--session", "second"]);
    const { code, stdout } = await pawl(["sessions"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "ID      STATUS     AGE  TITLE",
        "second  completed  now  Count the files under \\x1b[31msrc",
        "first   completed  now  List the files",
        "",
      ].join("\n"),
    );
    expect(parseJsonLines((await pawl(["sessions", "--json"])).stdout)).toMatchObject([
      { sessionId: "second", status: "completed", progress: "completed", info: { agent: "pawl", model: "demo", root } },
      { sessionId: "first", info: { title: "List the files" } },
    ]);
    const limited = await pawl(["sessions", "--limit", "1"]);
    expect(limited.stdout).not.toContain("first");
    expect(limited.stderr).toBe("1 more session: pawl sessions --limit 2\n");
  });

  test("are those of this folder, and with --all those of other folders after them", async () => {
    const { pawl, root } = createWorld({ ...files, "other/b.ts": "" });
    const other = join(root, "other");
    await pawl(["run", "List the files", "--session", "here"]);
    await pawl(["run", "List the files", "--session", "there"], { cwd: other });
    expect(await pawl(["sessions"])).toMatchObject({
      stdout: expect.stringMatching(/^ID .*\nhere .*\n$/),
      stderr: "1 session of other folders: pawl sessions --all\n",
    });
    const all = await pawl(["sessions", "--all"]);
    expect(all).toMatchObject({
      stderr: "",
      stdout: expect.stringMatching(/ FOLDER +TITLE\nhere .* \. .*\nthere .* other /),
    });
    expect(parseJsonLines((await pawl(["sessions", "--all", "--json"])).stdout)).toHaveLength(2);
    // Without an id, commands take the latest session of the folder.
    expect((await pawl(["trace"])).stdout).toBe((await pawl(["trace", "here"])).stdout);
    const ended = await pawl(["resume"]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("The last run of session here has ended") });
    await pawl(["run", "Write a summary to a.md", "--park", "--session", "waits"]);
    await pawl(["run", "List the files", "--session", "newest"]);
    expect((await pawl(["resume"], { input: "" })).stderr).toContain("Resuming waits: Write a summary");
  });

  test("the beginning of an id is enough if no other id begins with it", async () => {
    const { pawl } = createWorld(files);
    await pawl(["run", "List the files", "--session", "abcdefgh-1"]);
    await pawl(["run", "List the files", "--session", "abcdefgh-2"]);
    expect((await pawl(["sessions"])).stdout).toMatch(/^abcdefgh-2 .*\nabcdefgh-1 /m);
    const both = await pawl(["sessions", "show", "abc"]);
    expect(both.code).toBe(2);
    expect(both.stderr).toContain('The ids of 2 sessions begin with "abc"');
    expect((await pawl(["sessions", "show", "abcdefgh-1"])).code).toBe(0);
    expect((await pawl(["sessions", "delete", "abcdefgh-1"])).code).toBe(0);
    expect((await pawl(["sessions", "show", "abc"])).code).toBe(0);
    const none = await pawl(["sessions", "show", "x"]);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no session "x" in ') });
    // "pawl sessions" alone lists those of the folder, and an id is looked up in all of them.
    for (const { stderr } of [both, none]) expect(stderr).toContain('"pawl sessions --all" lists');
  });
});

describe("pawl sessions show", () => {
  test("is a transcript", verifies("CLI-4#part-1"), async () => {
    const { pawl, root } = createWorld(files);
    await pawl(["run", "Find the TODO comments under src", "--session", "s"]);
    const { code, stdout } = await pawl(["sessions", "show", "s"]);
    expect(code).toBe(0);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(
      /^session s · completed · started \d{4}-.*Z · model demo \(demo model, not an LLM\) · in /,
    );
    expect(lines[0]).toContain(root);
    expect(lines[1]).toBe("> Find the TODO comments under src");
    expect(stdout).toMatch(/▸ search_files .*\n/);
    expect(stdout).toMatch(/\ndone · .*\n$/);
  });

  test("shows the children of a session under the call that started them", async () => {
    const { pawl, home } = createWorld(files);
    mkdirSync(home, { recursive: true });
    const store = await openSqliteStore({ path: join(home, "sessions.db") });
    const helper = createAgent({ name: "helper", model: createScriptedModel([{ text: "Below all is well." }]), store });
    const model = createScriptedModel([{ calls: [{ name: "helper", input: { task: "Look" } }] }, { text: "Done." }]);
    const agent = createAgent({ name: "top", model, tools: [helper.asTool({ description: "Helps." })], store });
    expect(await agent.run("Ask below.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    await store.close();
    const lines = (await pawl(["sessions", "show", "s"])).stdout.split("\n");
    const at = (line: RegExp) => lines.findIndex((one) => line.test(one));
    expect(at(/^▸ helper /)).toBeGreaterThan(0);
    expect(at(/^ {2}> Look/)).toBeGreaterThan(at(/^▸ helper /));
    expect(at(/^ {2}Below all is well\.$/)).toBeGreaterThan(at(/^ {2}> Look/));
    expect(at(/^ {2}✓ Below all is well\./)).toBeGreaterThan(at(/^ {2}Below all is well\.$/));
  });

  test("as JSON is what the run had printed, without deltas", async () => {
    const { pawl } = createWorld(files);
    const run = await pawl(["run", "Find the TODO comments under src", "--session", "s", "--json"]);
    const { stdout } = await pawl(["sessions", "show", "s", "--json"]);
    expect(parseJsonLines(stdout)).toEqual(parseJsonLines(run.stdout).filter(({ type }) => type !== "delta"));
  });

  test("of an interrupted run says how to carry on", async () => {
    const { pawl, root, start } = createWorld(files);
    const gate = createGate(root);
    const running = start(["run", `run: ${gate.command}`, "--session", "s", "--yes", "--allow-shell"], { input: "" });
    await gate.begun(running);
    expect((await pawl(["sessions"])).stdout).toMatch(/^s +running /m);
    running.kill("SIGKILL");
    await running.ended;
    expect((await pawl(["sessions"])).stdout).toMatch(/^s +interrupted /m);
    const { stdout, stderr } = await pawl(["sessions", "show", "s"]);
    expect(stdout).toContain("▸ shell command=");
    expect(stderr).toContain("The run was interrupted. To continue: pawl resume s");
  });
});

describe("sessions of another program", () => {
  test("are queued until a process begins their run, and keep the ids that the program chose", async () => {
    const { pawl, home } = createWorld(files);
    mkdirSync(home, { recursive: true });
    const store = await openSqliteStore({ path: join(home, "sessions.db") });
    const schedules = createSchedules({ store });
    await schedules.put({ id: "each-morning", cron: "0 8 * * *", agent: "desk", input: "Report." });
    const { sessionId } = await schedules.runNow("each-morning");
    const id = sessionId.slice(0, 23);
    expect((await pawl(["sessions"])).stdout).toMatch(/^each-mor +queued /m);
    expect((await pawl(["sessions", "show", id])).stderr).toBe(
      "The run has not begun. A worker begins it, or the program that has its agent.\n",
    );
    const agent = createAgent({ name: "desk", model: createScriptedModel([{ text: "All is well." }]), store });
    await agent.session(sessionId).resume();
    await store.close();
    expect((await pawl(["sessions"])).stdout).toMatch(/^each-mor +completed /m);
    expect((await pawl(["sessions", "show", id])).stdout).toContain(` · session ${sessionId}\n`);
  });
});

describe("sessions of pawl", () => {
  test("are queued if a message waits that no process has taken, and say how to begin its run", async () => {
    const { pawl, home } = createWorld(files);
    await pawl(["run", "List the files", "--session", "mine"]);
    const store = await openSqliteStore({ path: join(home, "sessions.db") });
    await createClient({ store }).session("mine").send("Count the files");
    await store.close();
    expect((await pawl(["sessions"])).stdout).toMatch(/^mine +queued /m);
    expect((await pawl(["sessions", "show", "mine"])).stderr).toBe(
      "The run has not begun. To begin it: pawl resume mine\n",
    );
    expect(await pawl(["resume", "mine"])).toMatchObject({ code: 0 });
    expect((await pawl(["sessions"])).stdout).toMatch(/^mine +completed /m);
  });

  test("cannot write to the terminal with their ids", async () => {
    const { pawl } = createWorld(files);
    const id = "\u001b]0;x\u0007 order 41";
    await pawl(["run", "List the files", "--session", id]);
    for (const args of [["sessions"], ["sessions", "show", id], ["abort", id], ["sessions", "delete", id]]) {
      const { code, stdout, stderr } = await pawl(args);
      expect(code).toBe(0);
      expect(`${stdout}${stderr}`).not.toMatch(/[\x07\x1b]/);
    }
  });
});

describe("pawl sessions show of a run that no person can answer", () => {
  test("says what it waits for, how to send a signal, and what continues it", async () => {
    const { pawl, home } = createWorld(files);
    mkdirSync(home, { recursive: true });
    const store = await openSqliteStore({ path: join(home, "sessions.db") });
    const wait = {
      name: "wait",
      description: "Waits.",
      input: { type: "object" },
      durable: true,
      execute: async (_: unknown, { sleep, waitFor, sessionId }: ToolContext) => {
        if (sessionId === "sleeper") await sleep("night", { ms: 2 * 86_400_000 });
        else await waitFor("paid", { key: "order 7/paid" });
        return "ok";
      },
    } as const;
    const model = createScriptedModel(() => ({ calls: [{ name: "wait", input: {} }] }));
    const agent = createAgent({ name: "shop", model, tools: [wait], store });
    for (const sessionId of ["buyer", "sleeper"])
      expect(await agent.run("Go.", { sessionId })).toMatchObject({ status: "waiting" });
    await store.close();
    const continued = "A worker continues the run, or the program that has its agent.\n";
    expect((await pawl(["sessions", "show", "buyer"])).stderr).toBe(
      `The run is waiting for the signal order 7/paid. To send it: client.signal("order 7/paid", value), or POST /v1/signals/order%207%2Fpaid on a server\n${continued}`,
    );
    expect((await pawl(["sessions", "show", "sleeper"])).stderr).toMatch(
      new RegExp(`^The run is asleep until \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d\\.\\n${continued}$`),
    );
  });
});

describe("pawl sessions export", () => {
  test("is the log, without gaps", verifies("CLI-4#part-1"), async () => {
    const { pawl } = createWorld(files);
    await pawl(["run", "List the files", "--session", "s"]);
    const { code, stdout } = await pawl(["sessions", "export", "s"]);
    expect(code).toBe(0);
    const entries = parseJsonLines(stdout);
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
    expect(entries[0]).toMatchObject({ event: { type: "session_created" } });
    expect(entries.at(-1)).toMatchObject({ event: { type: "run_finished", reason: "stop" } });
  });

  test("a reader that leaves is no failure", async () => {
    const { pawl, start } = createWorld(files);
    await pawl(["run", "List the files", "--session", "s"]);
    const running = start(["sessions", "export", "s"]);
    running.child.stdout?.destroy();
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("pawl sessions export --raw, and import", () => {
  test("move a session, and all sessions, to another store", verifies("CLI-4#part-1"), async () => {
    const [here, there] = [createWorld(files), createWorld(files)];
    await here.pawl(["run", "List the files", "--session", "first"]);
    await here.pawl(["run", "Find the TODO comments under src", "--session", "second"]);
    const one = await here.pawl(["sessions", "export", "--raw", "fir"]);
    const imported = await there.pawl(["sessions", "import"], { input: one.stdout });
    expect(imported).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Imported 1 session \(log entries: \d+\)\.\n$/),
    });
    expect((await there.pawl(["sessions", "export", "--raw", "--all"])).stdout).toBe(one.stdout);
    const again = await there.pawl(["sessions", "import"], { input: one.stdout });
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("The store already has a session first") });
    expect((await there.pawl(["sessions", "delete", "first"])).code).toBe(0);

    const all = await here.pawl(["sessions", "export", "--raw", "--all"]);
    const file = join(there.base, "copy.jsonl");
    writeFileSync(file, all.stdout);
    const whole = await there.pawl(["sessions", "import", file, "--json"]);
    expect(parseJsonLines(whole.stdout)).toEqual([{ sessions: 2, entries: expect.any(Number) }]);
    expect((await there.pawl(["sessions", "--all", "--json"])).stdout).toBe(
      (await here.pawl(["sessions", "--all", "--json"])).stdout,
    );
    const shown = (world: typeof here) => world.pawl(["sessions", "show", "second"]);
    expect((await shown(there)).stdout).toBe((await shown(here)).stdout);
  });

  test("refuse what cannot be exported or imported", async () => {
    const { pawl, base } = createWorld(files);
    const refusals = [
      [["export"], "Name the sessions"],
      [["export", "a", "b"], "--raw"],
      [["export", "--all"], "--raw"],
      [["export", "--raw", "nobody"], 'no session "nobody"'],
      [["import", join(base, "nowhere")], "cannot be read"],
      [["import", base], "cannot be read"],
      [["import"], "incomplete"],
    ] as const;
    for (const [args, message] of refusals)
      expect(await pawl(["sessions", ...args])).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  test("an import that was killed goes on, and can be given up", async () => {
    const [here, there] = [createWorld(files), createWorld(files)];
    mkdirSync(here.home, { recursive: true });
    mkdirSync(there.home, { recursive: true });
    const source = await openSqliteStore({ path: join(here.home, "sessions.db"), synchronous: "normal" });
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store: source });
    const ids = Array.from({ length: 300 }, (_, number) => `s${number}`);
    for (const sessionId of ids) await agent.run("Go", { sessionId });
    await source.close();
    const { stdout: copy } = await here.pawl(["sessions", "export", "--raw", "--all"]);
    const target = await openSqliteStore({ path: join(there.home, "sessions.db") });
    onTestFinished(() => target.close());
    const running = there.start(["sessions", "import"], { input: copy });
    while ((await target.list({ limit: 1 })).length === 0) await new Promise((resolve) => setImmediate(resolve));
    running.kill("SIGKILL");
    await running.ended;
    const [half] = await target.list();
    expect(half?.holder?.id).toMatch(/^import /);
    expect(await target.due(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    const id = half?.sessionId ?? "";
    expect((await there.pawl(["sessions", "delete", id])).code).toBe(2);
    expect((await there.pawl(["sessions", "delete", id, "--force"])).code).toBe(0);
    expect((await there.pawl(["sessions", "import"], { input: copy })).code).toBe(0);
    expect((await there.pawl(["sessions", "export", "--raw", "--all"])).stdout).toBe(copy);
  });
});

describe("pawl sessions rename", verifies("CHAT-3#sessions"), () => {
  test("gives a session at rest another title at once, and one under way by the process that drives it", async () => {
    const { pawl, root, start } = createWorld(files);
    await pawl(["run", "List the files", "--session", "old"]);
    const titleOf = async (id: string) => {
      const found = parseJsonLines((await pawl(["sessions", "--json"])).stdout).find(
        ({ sessionId }) => sessionId === id,
      );
      return [found?.info.title, found?.progress];
    };
    const renamed = await pawl(["sessions", "rename", "old", "The  build", "of\nMarch\x1b[31m"]);
    expect(renamed).toMatchObject({ code: 0, stderr: "" });
    expect(renamed.stdout).toBe("old is now called: The build of March\\x1b[31m\n");
    expect(await titleOf("old")).toEqual(["The build of March\x1b[31m", "completed"]);
    const again = await pawl(["sessions", "rename", "ol", "March", "--json"]);
    expect(parseJsonLines(again.stdout)).toEqual([{ renamed: "old", title: "March" }]);
    for (const wrong of [[" "], ["x".repeat(201)], []])
      expect((await pawl(["sessions", "rename", "old", ...wrong])).code).toBe(2);
    expect((await pawl(["sessions", "rename", "none", "x"])).stderr).toContain('There is no session "none" in ');
    expect(await titleOf("old")).toEqual(["March", "completed"]);

    const gate = createGate(root);
    const args = ["run", `run: ${gate.command}`, "--session", "s", "--yes", "--allow-shell"];
    const running = start(args, { input: "" });
    await gate.begun(running);
    expect(await pawl(["sessions", "rename", "s", "At work"])).toMatchObject({ code: 0, stderr: "" });
    await expect.poll(() => titleOf("s")).toEqual(["At work", "running"]);
    gate.open();
    expect((await running.ended).code).toBe(0);
    expect(await titleOf("s")).toEqual(["At work", "completed"]);
  }, 60_000);

  test("carries no run on: the title of one that waits is there when it goes on", async () => {
    const { pawl } = createWorld(files);
    await pawl(["run", "run: touch made", "--session", "w", "--allow-shell", "--park"]);
    const renamed = await pawl(["sessions", "rename", "w", "Later", "--json"]);
    expect(parseJsonLines(renamed.stdout)).toEqual([{ renamed: "w", title: "Later", waits: true }]);
    expect((await pawl(["sessions", "rename", "w", "Later"])).stderr).toContain("pawl resume w");
    const listed = async () => parseJsonLines((await pawl(["sessions", "--json"])).stdout);
    expect(await listed()).toMatchObject([{ progress: "waiting", info: { title: "run: touch made" } }]);
    expect((await pawl(["resume", "w", "--yes", "--allow-shell"])).code).toBe(0);
    expect(await listed()).toMatchObject([{ progress: "completed", info: { title: "Later" } }]);
  });
});

describe("pawl sessions delete", () => {
  test("removes a session, and refuses one whose run is under way", verifies("CLI-4#part-1"), async () => {
    const { pawl, root, start } = createWorld(files);
    await pawl(["run", "List the files", "--session", "old"]);
    expect(await pawl(["sessions", "delete", "old"])).toMatchObject({ code: 0, stdout: "Deleted old.\n" });
    expect((await pawl(["sessions", "show", "old"])).code).toBe(2);

    const gate = createGate(root);
    const running = start(["run", `run: ${gate.command}`, "--session", "s", "--yes", "--allow-shell"], { input: "" });
    await gate.begun(running);
    const refused = await pawl(["sessions", "delete", "s"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("was not deleted") });
    gate.open();
    expect((await running.ended).code).toBe(0);
    const deleted = await pawl(["sessions", "delete", "s", "--json"]);
    expect(parseJsonLines(deleted.stdout)).toEqual([{ deleted: "s" }]);
  });
});
