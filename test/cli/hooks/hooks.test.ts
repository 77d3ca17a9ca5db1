/**
 * Hooks in files at the events of a run: what scripts read, and what counts of their answers.
 */
import { existsSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { resolveHooks } from "../../../src/cli/hooks/resolve-hooks.js";
import { finishNotifications } from "../../../src/cli/hooks/running-notifications.js";
import { runSessionEndHooks } from "../../../src/cli/hooks/session-end.js";
import { applyHookVerdict, isHookQuestion } from "../../../src/cli/permissions/hook-verdicts.js";
import { createPermissions } from "../../../src/cli/permissions/permissions.js";
import type { Json, RunResult } from "../../../src/index.js";
import { verifies } from "../../verifies.js";
import { call, createHookWorld, done, hooksFile } from "./hook-world.js";

const own = "config/pawl/hooks.json";
const readNotes = call("read_file", { path: "notes.txt" });
const writeNew = call("write_file", { path: "new.txt", content: "new\n" });

/** A command that keeps its input in `seen.jsonl`, and prints an answer. */
const answering = (answer: Json) => `cat >> seen.jsonl; echo '${JSON.stringify(answer)}'`;
const decide = (permissionDecision: string, more: { readonly [key: string]: Json } = {}) =>
  answering({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...more } });

function readSeen(world: ReturnType<typeof createHookWorld>) {
  const lines = (world.read("root/seen.jsonl") ?? "").split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const { transcript_path: path, ...input } = JSON.parse(line) as { readonly [field: string]: Json };
    expect(path).toMatch(/\.jsonl$/);
    return input;
  });
}

/** What the model was sent last. */
const lastSent = ({ model }: ReturnType<ReturnType<typeof createHookWorld>["start"]>) =>
  JSON.stringify(model.requests.at(-1)?.messages);

function requireQuestions(result: RunResult) {
  if (result.status !== "awaiting_human") throw new Error(`${result.status}: ${result.text}`);
  return result.approvals;
}

describe("A hook before a call", verifies("CHAT-6#events"), () => {
  test("reads the call in Claude Code's words, and blocks it with exit code 2 and standard error", async () => {
    const world = createHookWorld({
      [own]: hooksFile(
        "PreToolUse",
        { command: "cat >> seen.jsonl; echo 'not these notes' >&2; exit 2" },
        "Read|Write",
      ),
    });
    const started = world.start([readNotes, call("todo", { items: [] }), done]);
    expect(await started.agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(readSeen(world)).toEqual([
      {
        ...{ session_id: "s", cwd: world.root, permission_mode: "default", hook_event_name: "PreToolUse" },
        ...{ tool_name: "Read", tool_input: { file_path: `${world.root}/notes.txt` }, tool_use_id: "call_1_1" },
      },
    ]);
    expect(lastSent(started)).toContain("not these notes");
    expect(lastSent(started)).not.toContain("The notes say blue");
    const name = expect.stringMatching(/^PreToolUse: cat >> seen/) as string;
    expect(JSON.stringify(await world.listEvents("s"))).toContain("not these notes");
    const hooks = (await world.store.read("s")).flatMap(({ event }) => ("hooks" in event ? (event.hooks ?? []) : []));
    expect(hooks).toMatchObject([{ name, hook: "beforeToolCall", outcome: "changed" }, { outcome: "ok" }]);
  });

  test.each([
    ["deny", decide("deny", { permissionDecisionReason: "not today" }), "not today"],
    ["the older block", answering({ decision: "block", reason: "not today" }), "not today"],
    ["an answer that is not JSON", 'echo \'{"decision": "block"\'', "its answer is not valid JSON"],
    ["an unknown decision", decide("denied"), ", which is unknown"],
    ["another exit code", "echo broken >&2; exit 1", "its command ended with exit code 1: broken"],
    ["a program that is not there", "./no-such-program", "exit code 127"],
    ["a command that hangs", "sleep 30", "it took longer than 0.3 s"],
    ["a flood", "yes", "it wrote more than 256 KiB"],
  ])("with onFailure closed, blocks after %s", async (_, command, why) => {
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", { command, onFailure: "closed", timeout: command === "sleep 30" ? 0.3 : 60 }),
    });
    const started = world.start([readNotes, done]);
    await started.agent.run("Go.");
    expect(lastSent(started)).toContain(why);
    expect(lastSent(started)).not.toContain("The notes say blue");
  });

  test("that fails is reported, and the call runs", async () => {
    const world = createHookWorld({ [own]: hooksFile("PreToolUse", { command: "exit 3" }) });
    const started = world.start([readNotes, done]);
    await started.agent.run("Go.", { sessionId: "s" });
    expect(lastSent(started)).toContain("The notes say blue");
    expect(await world.listEvents("s")).toContainEqual(
      expect.objectContaining({
        type: "hook_failed",
        name: "PreToolUse: exit 3",
        message: "its command ended with exit code 3",
      }),
    );
  });

  test("changes the input, which is then asked about", async () => {
    const input = { file_path: "other.txt" };
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", { command: decide("ask", { updatedInput: input }) }),
    });
    const { agent } = world.start([writeNew, done]);
    const [question] = requireQuestions(await agent.run("Go.", { sessionId: "s" }));
    expect(question?.input).toEqual({ path: "other.txt", content: "new\n" });
    await agent.session("s").answer(question?.callKey ?? "", { type: "approve" });
    await agent.session("s").resume();
    expect([world.read("root/other.txt"), world.read("root/new.txt")]).toEqual(["new\n", null]);
  });

  test.each([
    ["Bash(git push:*)", { command: "cd x && git push origin" }, true],
    ["shell(git push *)", { command: "git status" }, false],
    ["shell(git push *)", { command: "npm test" }, false],
    ["shell(git push *)", { command: "$(echo git) push" }, true],
    ["shell(git push *)", { command: 'eval "$LINE"' }, true],
  ])("is called only for calls that fit its `if`: %s", async (condition, input, isCalled) => {
    const world = createHookWorld({ [own]: hooksFile("PreToolUse", { command: "cat >> seen.jsonl", if: condition }) });
    const { agent } = world.start([call("shell", input), done]);
    // There is no shell here, so the tool is another program's.
    const shell = { name: "shell", description: "Runs.", input: { type: "object" }, execute: () => "ran" };
    await agent.with({ tools: [shell] }).run("Go.");
    expect(readSeen(world)).toHaveLength(isCalled ? 1 : 0);
  });

  test("ends the run with continue: false", async () => {
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", { command: answering({ continue: false, stopReason: "enough" }) }),
    });
    const result = await world.start([readNotes, done]).agent.run("Go.");
    expect(result).toMatchObject({ status: "aborted", reason: "hook_stopped" });
  });
});

describe("What a hook says about the permission of a call", verifies("CHAT-6#events"), () => {
  test("lets a call run that would ask, unless a rule is about it", async () => {
    const world = createHookWorld({ [own]: hooksFile("PreToolUse", { command: decide("allow") }) });
    const { agent } = world.start([writeNew, done]);
    expect(await agent.run("Go.")).toMatchObject({ status: "completed" });
    expect(world.read("root/new.txt")).toBe("new\n");
    const denied = world.start([call("write_file", { path: "no.txt", content: "" }), done], {
      deny: ["write_file(no.txt)"],
    });
    await denied.agent.run("Go.");
    expect(world.read("root/no.txt")).toBeNull();
  });

  test("does not count for an input that a later hook has changed", async () => {
    const change = JSON.stringify({ hookSpecificOutput: { updatedInput: { file_path: "other.txt" } } });
    const hooks = [
      { type: "command", command: decide("allow") },
      { type: "command", command: `echo '${change}'` },
    ];
    const world = createHookWorld({ [own]: JSON.stringify({ hooks: { PreToolUse: [{ hooks }] } }) });
    const [question] = requireQuestions(await world.start([writeNew]).agent.run("Go."));
    expect(question?.input).toMatchObject({ path: "other.txt" });
    expect(world.read("root/other.txt")).toBeNull();
  });

  test("asks in addition to what the permissions ask", () => {
    const decided = {
      verdict: "ask",
      question: "It may reach example.org while it runs.",
      isBeyondSandbox: true,
    } as const;
    const asked = applyHookVerdict(decided, { verdict: "ask", question: "really?", input: {} });
    expect(asked.question).toBe("A hook asks about this call: really?\nIt may reach example.org while it runs.");
    expect(isHookQuestion(asked.question)).toBe(true);
    expect(applyHookVerdict(decided, { verdict: "allow", input: {} })).toEqual(decided);
  });

  test("asks about a call that a rule allows, once, also if another process goes on", async () => {
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", { command: decide("ask", { permissionDecisionReason: "really?" }) }),
    });
    const rules = { allow: ["write_file(**)"] };
    const [question] = requireQuestions(await world.start([writeNew], rules).agent.run("Go.", { sessionId: "s" }));
    expect(question?.question).toBe("A hook asks about this call: really?");
    const permissions = createPermissions({ ...world, allowAll: false, ...rules });
    const asked = { name: "write_file", input: { path: "new.txt", content: "new\n" } };
    expect(await permissions.isAllowed(asked)).toBe(true);
    expect(await permissions.isAllowed({ ...asked, question: question?.question })).toBe(false);
    const other = world.start([done], rules);
    await other.agent.session("s").answer(question?.callKey ?? "", { type: "approve" });
    expect(await other.agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(world.read("root/new.txt")).toBe("new\n");
    expect(readSeen(world)).toHaveLength(1);
  });
});

describe("A hook after a call", verifies("CHAT-6#events"), () => {
  test("has run before the model reads the output, and adds to it", async () => {
    const context = answering({ hookSpecificOutput: { additionalContext: "formatted" } });
    const world = createHookWorld({ [own]: hooksFile("PostToolUse", { command: context }, "Write") });
    const started = world.start([writeNew, done], { allow: ["write_file"] });
    await started.agent.run("Go.");
    expect(readSeen(world)).toMatchObject([
      { tool_name: "Write", tool_input: { file_path: `${world.root}/new.txt`, content: "new\n" } },
    ]);
    expect(readSeen(world)[0]?.tool_response).toMatchObject({
      output: expect.stringContaining("Wrote new.txt") as string,
    });
    expect(lastSent(started)).toContain("\\n\\n[hook] formatted");
  });

  test("of a failed call has an event of its own", async () => {
    const world = createHookWorld({
      [own]: hooksFile("PostToolUseFailure", { command: "cat >> seen.jsonl; echo why >&2; exit 2" }),
    });
    const started = world.start([readNotes, call("read_file", { path: "gone.txt" }), done]);
    await started.agent.run("Go.");
    expect(readSeen(world)).toMatchObject([
      { tool_name: "Read", error: expect.stringContaining("gone.txt") as string },
    ]);
    expect(lastSent(started)).toContain("[hook] why");
  });
});

describe("Hooks of a run", verifies("CHAT-6#events"), () => {
  test("add to the first message when a session starts or goes on in another process", async () => {
    const world = createHookWorld({
      [own]: hooksFile("SessionStart", { command: "cat >> seen.jsonl; echo The branch is main." }),
    });
    const { agent, model } = world.start([done, done]);
    await agent.run("One.", { sessionId: "s" });
    await agent.run("Two.", { sessionId: "s" });
    await world.start([done]).agent.run("Three.", { sessionId: "s" });
    expect(readSeen(world).map(({ source }) => source)).toEqual(["startup", "resume"]);
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("[hook] The branch is main.");
  });

  test("set variables of later commands, apart from those that change what runs", async () => {
    const lines = [
      "export STAGE='a b'",
      'declare -x QUOTED="say \\"hi\\""',
      "# a comment",
      "PLAIN=1",
      "export LD_PRELOAD=/evil.so",
      "export PATH=/evil",
      "export PAWL_HOME=/evil",
      "export LANG=xx",
      "export EXPANDED=$(echo secret)",
      'export KEY="-----BEGIN',
      "secret",
    ];
    const world = createHookWorld({
      [own]: hooksFile("SessionStart", {
        command:
          'ls -l "$CLAUDE_ENV_FILE" | cut -c1-10 > mode; echo "$CLAUDE_ENV_FILE" > path; cat lines >> "$CLAUDE_ENV_FILE"',
      }),
      "root/lines": lines.join("\n"),
      "config/pawl/pawl.config.json": JSON.stringify({ shell: { sandbox: "off" } }),
    });
    const print = call("shell", { command: "env" });
    const { agent, model } = world.start([print, done, print, done], { allowShell: true, allow: ["shell"] });
    await agent.run("One.", { sessionId: "s" });
    const sent = JSON.stringify(model.requests[1]?.messages);
    for (const variable of ["STAGE=a b", "PLAIN=1", String.raw`QUOTED=say \"hi\"`]) expect(sent).toContain(variable);
    for (const refused of ["LD_PRELOAD", "/evil", "LANG=xx", "EXPANDED", "CLAUDE_ENV_FILE"])
      expect(sent).not.toContain(refused);
    const why = /LD_PRELOAD is reserved.*PATH is.*PAWL_HOME is.*LANG is.*EXPANDED is not literal text; 2 more/;
    expect(await world.listEvents("s")).toContainEqual(
      expect.objectContaining({ type: "hook_failed", message: expect.stringMatching(why) as string }),
    );
    expect(JSON.stringify(await world.listEvents("s"))).not.toContain("secret");
    expect(world.read("root/mode")).toBe("-rw-------\n");
    expect(existsSync((world.read("root/path") ?? "").trim())).toBe(false);
    await agent.run("Two.", { sessionId: "other" });
    expect(JSON.stringify(model.requests[3]?.messages)).toContain("STAGE=a b");
  });

  test("set variables for the commands of a run that another process began", async () => {
    const command =
      'echo "export STAGE=blue" >> "$CLAUDE_ENV_FILE"; grep -o \'"source":"[a-z]*"\' >> sources; echo Resumed.';
    const world = createHookWorld({
      [own]: hooksFile("SessionStart", { command }),
      "config/pawl/pawl.config.json": JSON.stringify({ shell: { sandbox: "off" } }),
    });
    const first = world.start([call("shell", { command: "echo stage is $STAGE" })], { allowShell: true });
    const run = await first.agent.run("One.", { sessionId: "s" });
    const [pending] = await first.agent.session("s").pendingApprovals();
    expect(run.status).toBe("awaiting_human");
    await first.agent.shutdown({ graceMs: 0 });
    const { agent, model } = world.start([done, done], { allowShell: true });
    await agent.session("s").answer(pending?.callKey ?? "", { type: "approve" });
    await agent.session("s").resume();
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("stage is blue");
    expect(world.read("root/sources")).toBe('"source":"startup"\n"source":"resume"\n');
    await agent.run("Two.", { sessionId: "s" });
    expect(JSON.stringify(model.requests[1]?.messages).split("[hook] ")).toHaveLength(3);
    expect(world.read("root/sources")).toBe('"source":"startup"\n"source":"resume"\n');
  });

  test("hold a command back until it has its variables, or for ever if the run is aborted meanwhile", async () => {
    const command =
      'case "$(cat)" in *startup*) exit 0;; esac; touch begun; until [ -e go ]; do sleep 0.05; done; ' +
      'echo "export STAGE=blue" >> "$CLAUDE_ENV_FILE"; echo Resumed.';
    const world = createHookWorld({
      [own]: hooksFile("SessionStart", { command }),
      "config/pawl/pawl.config.json": JSON.stringify({ shell: { sandbox: "off" } }),
    });
    const held = call("shell", { command: "touch ran", background: true });
    const first = world.start([held], { allowShell: true });
    await first.agent.run("One.", { sessionId: "s" });
    const [pending] = await first.agent.session("s").pendingApprovals();
    await first.agent.shutdown({ graceMs: 0 });
    const print = call("shell", { command: "echo stage is $STAGE" });
    const { agent, model } = world.start([print, done], { allowShell: true, allow: ["shell"] });
    const session = agent.session("s");
    await session.answer(pending?.callKey ?? "", { type: "approve" });
    const resumed = session.resume();
    await vi.waitFor(() => expect(world.read("root/begun")).toBe(""));
    await session.abort();
    await resumed;
    world.write("root/go", "");
    await agent.run("Two.", { sessionId: "s" });
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("[hook] Resumed.");
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("stage is blue");
    expect(world.read("root/ran")).toBe(null);
  });

  test("refuse a message, or add to it", async () => {
    const command = 'if grep -q secret; then echo "no secrets" >&2; exit 2; fi; echo Be brief.';
    const world = createHookWorld({ [own]: hooksFile("UserPromptSubmit", { command }) });
    const { agent, model } = world.start([done, done]);
    expect(await agent.run("Tell the secret.")).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("no secrets") as string },
    });
    expect(model.requests).toHaveLength(0);
    await agent.run("Tell the time.");
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("[hook] Be brief.");
  });

  test("keep it from ending, and know that they have done so", async () => {
    const command =
      'input=$(cat); echo "$input" >> seen.jsonl; case "$input" in *\'"stop_hook_active":false\'*) echo "Run the tests." >&2; exit 2;; esac';
    const world = createHookWorld({ [own]: hooksFile("Stop", { command }) });
    const { agent, model } = world.start([{ text: "First." }, { text: "Second." }]);
    expect(await agent.run("Go.")).toMatchObject({ status: "completed", text: "Second." });
    expect(readSeen(world)).toMatchObject([
      { stop_hook_active: false, last_assistant_message: "First." },
      { stop_hook_active: true, last_assistant_message: "Second." },
    ]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("[hook] Run the tests.");
  });

  test("are also called for the calls of an agent in a file, and when it starts and ends", async () => {
    const group = (command: string, matcher?: string) => [
      { ...(matcher === undefined ? {} : { matcher }), hooks: [{ type: "command", command }] },
    ];
    const world = createHookWorld({
      [own]: JSON.stringify({
        hooks: {
          PreToolUse: group("cat >> seen.jsonl"),
          SubagentStart: group("cat >> seen.jsonl; echo Look twice.", "scout"),
          SubagentStop: group("cat >> seen.jsonl", "scout"),
          Stop: group("cat >> seen.jsonl"),
        },
      }),
      "config/pawl/agents/scout.md": "---\ndescription: Looks.\n---\nYou look.\n",
    });
    const { agent, childModel } = world.start([call("agent_scout", { task: "Look." }), done], {
      child: [readNotes, done],
    });
    await agent.run("Go.", { sessionId: "s" });
    expect(readSeen(world)).toMatchObject([
      { hook_event_name: "PreToolUse", tool_name: "Task", tool_input: { subagent_type: "scout", prompt: "Look." } },
      { hook_event_name: "SubagentStart", session_id: "s", agent_type: "scout" },
      { hook_event_name: "PreToolUse", tool_name: "Read", session_id: "s", agent_type: "scout" },
      { hook_event_name: "SubagentStop", agent_type: "scout", last_assistant_message: "Done." },
      { hook_event_name: "Stop", last_assistant_message: "Done." },
    ]);
    expect(JSON.stringify(childModel.requests[0]?.messages)).toContain("[hook] Look twice.");
  });
});

describe("A hook for notices", verifies("CHAT-6#events"), () => {
  test("runs when a call waits for a person, also in an agent in a file, and the run does not wait for it", async () => {
    const world = createHookWorld({
      [own]: hooksFile("Notification", { command: "cat >> seen.jsonl" }, "permission_prompt"),
      "config/pawl/agents/scout.md": "---\ndescription: Looks.\n---\nYou look.\n",
    });
    const { agent } = world.start([call("agent_scout", { task: "Write." })], { child: [writeNew] });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    await finishNotifications();
    expect(readSeen(world)).toMatchObject([
      {
        ...{ hook_event_name: "Notification", notification_type: "permission_prompt", tool: "write_file" },
        message: expect.stringContaining("write_file") as string,
      },
    ]);
  });
});

describe("A hook with async", verifies("CHAT-6#events"), () => {
  test("runs in the background: the run does not wait for it, and its answer has no effect", async () => {
    const gate = "while [ ! -e open ]; do sleep 0.02; done";
    const command = `${gate}; cat >> seen.jsonl; echo '{"decision":"block","reason":"too late"}'`;
    const world = createHookWorld({ [own]: hooksFile("PreToolUse", { command, async: true }, "Read") });
    const started = world.start([readNotes, done]);
    expect(await started.agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(lastSent(started)).toContain("The notes say blue");
    expect(world.read("root/seen.jsonl")).toBeNull();
    world.write("root/open", "");
    await finishNotifications();
    expect(readSeen(world)).toMatchObject([{ hook_event_name: "PreToolUse", tool_name: "Read" }]);
  });
});

describe("The person's own file of hooks", verifies("CHAT-6#limits"), () => {
  test("is not written by a tool, also if the folder of the sessions contains it", async () => {
    const hooks = '{"hooks": {}}';
    const world = createHookWorld({ "root/.config/pawl/hooks.json": hooks });
    vi.stubEnv("XDG_CONFIG_HOME", `${world.root}/.config`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const write = call("write_file", { path: ".config/pawl/hooks.json", content: "{}" });
    const started = world.start([write, done], { allow: ["write_file(**)"] });
    await started.agent.run("Go.");
    expect(lastSent(started)).toContain("is protected");
    expect(world.read("root/.config/pawl/hooks.json")).toBe(hooks);
  });
});

describe("The command of a hook", verifies("CHAT-6#limits"), () => {
  test("gets the person's environment without secrets, and those that it names", async () => {
    vi.stubEnv("PAWL_TEST_TOKEN", "t1");
    vi.stubEnv("PAWL_TEST_SECRET_KEY", "k1");
    onTestFinished(() => void vi.unstubAllEnvs());
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", { command: "env > env.txt", env: ["PAWL_TEST_TOKEN"] }),
    });
    await world.start([readNotes, done]).agent.run("Go.");
    const env = (world.read("root/env.txt") ?? "").split("\n");
    expect(env).toContain("PAWL_TEST_TOKEN=t1");
    expect(env).toContain(`CLAUDE_PROJECT_DIR=${world.root}`);
    expect(env.join("\n")).not.toContain("PAWL_TEST_SECRET_KEY");
  });

  test("can read its input as a file, and is not waited for because of what it leaves behind", async () => {
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", {
        command: "cat /dev/stdin >> seen.jsonl; sleep 300& echo no > /dev/stderr; exit 2",
      }),
    });
    const started = world.start([readNotes, done]);
    await started.agent.run("Go.");
    expect(readSeen(world)).toHaveLength(1);
    expect(lastSent(started)).toContain("no");
  });
});

describe("A session with hooks", verifies("CHAT-6#log"), () => {
  test("is replayed without calling them, also if they are gone", async () => {
    const world = createHookWorld({
      [own]: hooksFile("PreToolUse", { command: "echo no >> ran.txt; echo no >&2; exit 2" }),
    });
    await world.start([readNotes, done]).agent.run("Go.", { sessionId: "s" });
    world.write(own, '{"hooks": {}}');
    const replayed = await world.start([]).agent.session("s").replay({ policy: "recorded" });
    expect(replayed.difference).toBeNull();
    expect(world.read("root/ran.txt")).toBe("no\n");
  });
});

describe("A hook that is asked for a permission", verifies("CHAT-6#events"), () => {
  const request = (decision: { readonly [key: string]: Json }) =>
    hooksFile(
      "PermissionRequest",
      { command: answering({ hookSpecificOutput: { hookEventName: "PermissionRequest", decision } }) },
      "Write",
    );

  test("allows a call that would ask, and reads no call that does not ask", async () => {
    const world = createHookWorld({ [own]: request({ behavior: "allow" }) });
    const { agent } = world.start([readNotes, writeNew, done]);
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(world.read("root/new.txt")).toBe("new\n");
    expect(readSeen(world)).toMatchObject([{ hook_event_name: "PermissionRequest", tool_name: "Write" }]);
    expect(readSeen(world)[0]).not.toHaveProperty("tool_use_id");
  });

  test("denies it with its message", async () => {
    const world = createHookWorld({ [own]: request({ behavior: "deny", message: "Not today." }) });
    const started = world.start([writeNew, done]);
    expect(await started.agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(lastSent(started)).toContain("Not today");
    expect(world.read("root/new.txt")).toBeNull();
  });

  test("does not allow what a rule denies, and is not called for it", async () => {
    const world = createHookWorld({ [own]: request({ behavior: "allow" }) });
    const { agent } = world.start([writeNew, done], { deny: ["write_file"] });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(world.read("root/new.txt")).toBeNull();
    expect(readSeen(world)).toEqual([]);
  });

  test("fails with another behavior, and the person is asked", async () => {
    const world = createHookWorld({ [own]: request({ behavior: "maybe" }) });
    const { agent } = world.start([writeNew, done]);
    expect(requireQuestions(await agent.run("Go.", { sessionId: "s" }))).toMatchObject([{ name: "write_file" }]);
  });
});

describe("The transcript of a hook", verifies("CHAT-6#events"), () => {
  test("has the conversation in Claude Code's lines while the command runs", async () => {
    const command = `path=$(sed 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/'); cp "$path" kept.jsonl; echo "$path" > path`;
    const world = createHookWorld({ [own]: hooksFile("Stop", { command }) });
    const { agent } = world.start([readNotes, done]);
    await agent.run("Go.", { sessionId: "s" });
    const lines = (world.read("root/kept.jsonl") ?? "").trim().split("\n");
    const messages = lines.map((line) => JSON.parse(line) as Json);
    expect(messages.slice(0, 3)).toMatchObject([
      {
        type: "user",
        sessionId: "s",
        cwd: world.root,
        message: { role: "user", content: [{ type: "text", text: "Go." }] },
      },
      { type: "assistant", message: { content: [{ type: "tool_use", id: "call_1_1", name: "Read" }] } },
      { type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1_1" }] } },
    ]);
    expect(existsSync((world.read("root/path") ?? "").trim())).toBe(false);
  });
});

describe("A hook at the end of a session", verifies("CHAT-6#events"), () => {
  test("reads why it ends, and a failure is reported", async () => {
    const world = createHookWorld({
      [own]: JSON.stringify({
        hooks: {
          SessionEnd: [
            { matcher: "other", hooks: [{ type: "command", command: "cat >> seen.jsonl; exit 3" }] },
            { matcher: "clear", hooks: [{ type: "command", command: "touch cleared" }] },
          ],
        },
      }),
    });
    const { agent } = world.start([done]);
    const ended = { store: world.store, root: world.root, sessionId: "s", reason: "other" } as const;
    const hooks = resolveHooks(world.readTrust(), world.environment);
    expect(await runSessionEndHooks(hooks, ended)).toEqual([]);
    await agent.run("Go.", { sessionId: "s" });
    expect(await runSessionEndHooks(hooks, ended)).toEqual([expect.stringContaining("exit code 3")]);
    expect(readSeen(world)).toEqual([
      { session_id: "s", cwd: world.root, hook_event_name: "SessionEnd", reason: "other" },
    ]);
    expect(world.read("root/cleared")).toBeNull();
  });
});

describe("A hook before a compaction", verifies("CHAT-6#events"), () => {
  const long = { text: "A sentence of some length that fills the window. ".repeat(40) };

  async function talkAndCompact(command: string, matcher?: string) {
    const world = createHookWorld({ [own]: hooksFile("PreCompact", { command }, matcher) });
    const started = world.start([long, long, { text: "So far." }]);
    for (const message of ["One.", "Two."]) await started.agent.run(message, { sessionId: "s" });
    const result = await started.agent.session("s").compact({ keep: "the door" });
    return { world, result, prompt: started.model.requests[2]?.systemPrompt ?? "" };
  }

  test("reads who wants it and what to preserve, and adds to that with its output", async () => {
    const { world, result, prompt } = await talkAndCompact("cat >> seen.jsonl; echo; echo 'the plan'");
    expect(result).toMatchObject({ type: "compacted", summary: "So far." });
    expect(readSeen(world)).toMatchObject([
      { hook_event_name: "PreCompact", trigger: "manual", custom_instructions: "the door" },
    ]);
    expect(prompt).toContain("the door\n[hook] the plan");
  });

  test.each([
    ["echo 'not now' >&2; exit 2"],
    [`echo '${JSON.stringify({ decision: "block", reason: "not now" })}'`],
    [`echo '${JSON.stringify({ continue: false, stopReason: "not now" })}'`],
  ])("blocks a compaction that a person requested: %s", async (command) => {
    const { result } = await talkAndCompact(command);
    expect(result).toMatchObject({ type: "unchanged", fault: { code: "refused", message: "not now" } });
  });

  test("is not called for the other kind of compaction", async () => {
    const { result } = await talkAndCompact("exit 2", "auto");
    expect(result).toMatchObject({ type: "compacted" });
  });
});
