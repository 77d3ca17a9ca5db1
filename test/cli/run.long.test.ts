import { existsSync, readFileSync, realpathSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ScriptedReply, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const files = { "src/a.ts": "// TODO: one\nexport const a = 1;\n", "src/b.ts": "// TODO: two\n" };
const report = "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md";

describe("pawl run", () => {
  test("does a task on the folder where it is called, with real calls and a real file", verifies("CLI-1"), async () => {
    const { root, pawl } = createWorld(files);
    const { code, stdout, stderr } = await pawl(["run", report, "--yes"]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(readFileSync(join(root, "TODO-REPORT.md"), "utf8")).toMatch(/one[\s\S]*two/);
    expect(stdout).toContain("TODO-REPORT.md");
    expect(stderr).toMatch(/▸ search_files .*text="TODO"/);
    expect(stderr).toMatch(/✓ Wrote TODO-REPORT.md/);
    expect(stderr).toMatch(/done · \d+ steps · [\d,]+ tokens in, [\d,]+ out · .+ · session [0-9a-f]{8}\n$/);
  });

  test("uses the demo model if there is nothing else, and says so", verifies("CLI-5"), async () => {
    const { pawl } = createWorld();
    const { stderr } = await pawl(["run", "List the files"]);
    expect(stderr).toContain("Using the demo model, not an LLM, because no model was named, no key is set");
  });

  test(
    "leaves out an AGENTS.md that is a link out of the folder, with a line on stderr",
    verifies("CTX-11"),
    async () => {
      const { root, pawl } = createWorld({ "../outside.md": "Answer in rhymes.\n", "notes.txt": "colour\n" });
      symlinkSync("../outside.md", join(root, "AGENTS.md"));
      const { code, stderr } = await pawl(["run", "List the files", "--model", "demo"]);
      expect(code).toBe(0);
      expect(stderr).toContain(`${join(root, "AGENTS.md")} was left out: it is a link that leads out of its folder.`);
      expect(stderr).not.toContain("Using /");
    },
  );

  test("goes by the AGENTS.md of the folder, and says so", verifies("CTX-11"), async () => {
    const server = await startProviderServer("openai-chat", () => ({ type: "answer", text: "Hello." }));
    const { root, pawl } = createWorld({ "AGENTS.md": "Answer in rhymes.\n", ".agents/skills/x/SKILL.md": "none" });
    const env = { OPENAI_BASE_URL: server.baseURL };
    const command = ["run", "Hello", "--model", "openai-compatible/test"];
    const asked = await pawl(command, { env });
    expect(asked.stderr).toContain(`Using ${join(root, "AGENTS.md")}\n`);
    const without = await pawl([...command, "--no-context-files"], { env });
    expect(without.stderr).not.toContain("AGENTS.md");
    await server.close();
    const sent = server.requests.map((request) => JSON.stringify(request));
    expect(sent[0]).toContain("Answer in rhymes.");
    expect(sent.at(-1)).not.toContain("Answer in rhymes.");
  });

  test("a key that fails is an error, never a silent demo", verifies("CLI-5", "CLI-3"), async () => {
    const server = await startProviderServer("openai-chat", () => ({ type: "failure", failure: "unauthorized" }));
    const { pawl } = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL, OPENAI_API_KEY: "sk-wrong-key-0001" };
    const { code, stdout, stderr } = await pawl(["run", "List the files", "--model", "openai-compatible/test"], {
      env,
    });
    await server.close();
    expect(code).toBe(5);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/Model call failed \(auth, attempt 1\).*No further attempt\./);
    expect(stderr).toContain("failed (model_error)");
    expect(stderr + stdout).not.toContain("sk-wrong-key-0001");
    expect(server.requests).toHaveLength(1);
  });

  test("streams a real provider's answer and reports retries", async () => {
    const server = await startProviderServer("openai-chat", [
      { type: "failure", failure: "overloaded", headers: { "retry-after-ms": "1" } },
      { type: "answer", text: "Let me look.", calls: [{ name: "list_files", input: {} }] },
      { type: "answer", text: "There is a.ts.", usage: { input: 20, output: 4 } },
    ]);
    const { pawl } = createWorld(files);
    const env = { OPENAI_BASE_URL: server.baseURL };
    const { code, stdout, stderr } = await pawl(["run", "What is here?", "--model", "openai-compatible/test"], { env });
    await server.close();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toBe("There is a.ts.\n");
    expect(stderr).toContain("Let me look.\n▸ list_files");
    expect(stderr).toMatch(/Model call failed \(overloaded, attempt 1\).*Trying again in /);
    expect(stderr).toContain("▸ list_files");
  });

  test("gives the answer alone on standard output, also after an attempt that broke in mid-sentence", async () => {
    const server = await startProviderServer("openai-chat", [
      { type: "answer", text: "The colour of the sky is gr", ending: "reset" },
      { type: "answer", text: "The sky is blue." },
    ]);
    const { pawl } = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL };
    const { code, stdout, stderr } = await pawl(["run", "Which?", "--model", "openai-compatible/test"], { env });
    await server.close();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/Model call failed \(network, attempt 1\)/);
    expect(stdout).toBe("The sky is blue.\n");
  });

  test("a model server that is not started is said to be that, at once", verifies("CHAT-5"), async () => {
    const { pawl } = createWorld();
    const env = { LLAMACPP_BASE_URL: "http://127.0.0.1:9/v1" };
    const { code, stdout, stderr } = await pawl(["run", "hi", "--model", "llamacpp/any"], { env });
    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr.match(/Model call failed/g)).toHaveLength(2);
    expect(stderr).toContain("Nothing listens on 127.0.0.1:9. Start the model server, or check its address.");
  });

  test("--timeout limits the wait for the beginning of an answer", verifies("RTRY-5"), async () => {
    const silent = { type: "raw", status: 200, headers: { "content-type": "text/event-stream" }, body: "", hang: true };
    const server = await startProviderServer("openai-chat", () => silent as ScriptedReply);
    const { start } = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["run", "Which?", "--model", "openai-compatible/test", "--timeout", "1s"];
    const running = start(args, { env, input: "" });
    await running.said("Model call failed (timeout, attempt 1): The model said nothing for 1 s.");
    running.kill("SIGKILL");
    await running.ended;
    await server.close();
    const wrong = await createWorld().pawl(["run", "hi", "--timeout", "soon"]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("It must be a length of time") });
  });

  test("takes the task from standard input", async () => {
    const { pawl } = createWorld(files);
    expect((await pawl(["run"], { input: "List the files under src\n" })).stdout).toContain("src/a.ts");
    expect((await pawl(["run", "-"], { input: "List the files under src\n" })).stdout).toContain("src/a.ts");
    const { code, stderr } = await pawl(["run"], { input: " \n" });
    expect(code).toBe(2);
    expect(stderr).toContain("standard input is empty");
  });

  describe("with a task in the arguments", () => {
    async function sentFor(args: readonly string[], input: string | undefined) {
      const server = await startProviderServer("openai-chat", () => ({ type: "answer", text: "Read." }));
      const { start } = createWorld({ "src/a.ts": "// one\n" });
      const env = { OPENAI_BASE_URL: server.baseURL };
      const running = start([...args, "--model", "openai-compatible/test"], {
        env,
        ...(input === undefined ? {} : { input }),
      });
      const ended = await running.ended;
      await server.close();
      return { ...ended, sent: JSON.stringify(server.requests.at(-1)?.body.messages) };
    }

    test.each([
      ["pawl run", ["run", "Explain this"]],
      ["pawl -p", ["-p", "Explain this"]],
    ])("what is piped to %s joins the task as data", async (_, args) => {
      const { code, stdout, sent } = await sentFor(args, "the piped words\n");
      expect({ code, stdout }).toEqual({ code: 0, stdout: "Read.\n" });
      expect(sent).toMatch(/Explain this.*From standard input:\\n```\\nthe piped words/);
    });

    test("a long input is cut, and the person is told", async () => {
      const { stderr, sent } = await sentFor(["run", "Explain this"], "ä".repeat(400_000));
      expect(stderr).toContain("Standard input is too long: only its beginning is part of the task.");
      expect(sent).toMatch(/From standard input, its beginning:\\n```\\nä{300000}\\n```/);
    });

    test("a pipe to which nobody writes is not awaited for ever", async () => {
      const { code, stderr, sent } = await sentFor(["run", "Explain this"], undefined);
      expect(code).toBe(0);
      expect(stderr).toContain("Standard input is not part of the task: nothing arrived within 3 s.");
      expect(sent).not.toContain("From standard input");
    });

    test("bytes that are no text do not join, and the person is told", async () => {
      const { stderr } = await sentFor(["run", "Explain this"], "a\0b");
      expect(stderr).toContain("Standard input is not part of the task: it is not text.");
    });

    test("files that it names join it, and a name that is no file is told", async () => {
      const { stderr, sent } = await sentFor(["run", "Explain @src/a.ts and @nothere.txt for @ada"], "");
      expect(sent).toContain("The file src/a.ts, as it is now:");
      expect(stderr).toContain("@nothere.txt was not attached: there is no such file in the folder.");
      expect(stderr).not.toContain("@ada");
    });
  });

  test("takes a task of several words", async () => {
    const { pawl } = createWorld(files);
    expect((await pawl(["run", "List", "the", "files", "under", "src"])).stdout).toContain("src/a.ts");
  });

  test("works on another folder by its real path", async () => {
    const { base, root, pawl } = createWorld(files);
    symlinkSync(root, join(base, "link"));
    const { stdout, stderr } = await pawl(["run", "List the files", "--root", join(base, "link")], { cwd: base });
    expect(stdout).toContain("src/a.ts");
    expect(stderr).toContain(`in ${root}\n`);
    const missing = await pawl(["run", "List the files", "--root", join(base, "nowhere")]);
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(missing.stderr).toContain("There is no folder");
  });

  test("goes on with a session, and with the latest one of the folder", async () => {
    const { base, pawl } = createWorld(files);
    await pawl(["run", "List the files under src", "--session", "mine"]);
    const again = await pawl(["run", "Count the files under src", "--continue"]);
    expect(again.stderr).toMatch(/Session mine in .*\n/);
    expect(again.stderr).toContain("Using demo (demo model, not an LLM), as before.");
    const elsewhere = await pawl(["run", "List the files", "--session", "mine"], { cwd: base });
    expect(elsewhere.stdout).toContain("src/a.ts");
    const shown = await pawl(["sessions", "show", "mine"]);
    expect(shown.stdout.match(/^> /gm)).toHaveLength(3);
    const none = await pawl(["run", "List the files", "--continue"], { cwd: realpathSync(base) });
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toContain("Leave out --continue");
  });

  test("a session is bound to its folder", async () => {
    const { base, root, pawl } = createWorld(files);
    await pawl(["run", "List the files", "--session", "mine"]);
    const { code, stderr } = await pawl(["run", "List the files", "--session", "mine", "--root", base]);
    expect(code).toBe(2);
    expect(stderr).toContain(`works in ${root}, not in ${base}`);
  });
});

describe("permissions", () => {
  test(
    "if nobody can be asked, a tool that is not read-only is denied, with a hint how to allow it",
    verifies("SEC-5#command-line"),
    async () => {
      const { root, pawl } = createWorld(files);
      const { code, stderr } = await pawl(["run", report]);
      expect(code).toBe(0);
      expect(existsSync(join(root, "TODO-REPORT.md"))).toBe(false);
      expect(stderr).toContain("✗ Denied: it needs an approval, and nobody can be asked.");
      expect(stderr).toContain("1 call was denied because nobody could be asked.");
      expect(stderr).toContain("--yes");
    },
  );

  test("there is no shell unless it is asked for, and --yes alone does not give one", verifies("SEC-7"), async () => {
    const { root, pawl } = createWorld();
    const without = await pawl(["run", "run: touch made", "--yes"]);
    expect(existsSync(join(root, "made"))).toBe(false);
    expect(without.stdout).toMatch(/shell/);
    const with_ = await pawl(["run", "run: touch made", "--allow-shell"]);
    expect(existsSync(join(root, "made"))).toBe(false);
    expect(with_.stderr).toContain("✗ Denied");
    expect(with_.stderr).toMatch(/Commands are (not )?sandboxed/);
    await pawl(["run", "run: touch made", "--allow-shell", "--yes"]);
    expect(existsSync(join(root, "made"))).toBe(true);
  });

  test("the tools never write the sessions, even if they are in the folder", verifies("SEC-8"), async () => {
    const { root, pawl } = createWorld(files);
    const env = { PAWL_HOME: join(root, "state") };
    const { stderr } = await pawl(
      ["run", "Find the TODO comments under src, then write a report to state/x.md", "--yes"],
      { env },
    );
    expect(stderr).toContain("is protected");
    expect(existsSync(join(root, "state/x.md"))).toBe(false);
    expect(statSync(join(root, "state")).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, "state/sessions.db")).mode & 0o777).toBe(0o600);
  });
});

describe("--json", () => {
  test("prints one event a line, the last one with the result", verifies("CLI-1"), async () => {
    const { pawl } = createWorld(files);
    const { code, stdout } = await pawl(["run", report, "--yes", "--json"]);
    const lines = parseJsonLines(stdout);
    expect(code).toBe(0);
    const types = new Set(lines.map(({ type }) => type));
    expect([...types].sort()).toEqual(
      [
        "call_complete",
        "call_start",
        // What a file was before, for /undo.
        "data_changed",
        "delta",
        "final",
        "message",
        "run_started",
        "session_created",
        "step_finished",
        "text",
        "tool_call",
        "tool_result",
      ].sort(),
    );
    expect(lines.filter(({ type }) => type === "final")).toHaveLength(1);
    const last = lines.at(-1);
    expect(last).toMatchObject({ type: "final", result: { status: "completed", reason: "stop" } });
    const events = lines.filter(({ type }) => type !== "delta");
    expect(events.map(({ seq }) => seq)).toEqual([...events.map(({ seq }) => seq)].sort((a, b) => a - b));
    for (const one of events) expect(one).toMatchObject({ sessionId: last.result.sessionId, at: expect.any(Number) });
    const answer = lines.filter(({ type, delta }) => type === "delta" && delta.modelCallIndex === last.result.steps);
    expect(
      answer
        .map(({ delta }) => delta.text ?? "")
        .join("")
        .trim(),
    ).toBe(last.result.text);
    const calls = lines.filter(({ type }) => type === "tool_call").map(({ callKey }) => callKey);
    expect(
      lines
        .filter(({ type }) => type === "tool_result")
        .map(({ callKey }) => callKey)
        .sort(),
    ).toEqual(calls.sort());
  });

  test("says on standard error what is for people", async () => {
    const { pawl } = createWorld(files);
    const { stdout, stderr } = await pawl(["run", report, "--json"]);
    expect(() => parseJsonLines(stdout)).not.toThrow();
    expect(stderr).toContain("--yes");
  });
});

describe("exit codes", () => {
  test("4 at a limit, with how to go on", verifies("CLI-3"), async () => {
    const { pawl } = createWorld(files);
    const { code, stderr } = await pawl(["run", report, "--yes", "--max-steps", "1", "--max-cost", "0.5"]);
    expect(code).toBe(4);
    expect(stderr).toContain("failed (max_steps): The run reached its limit of steps.");
    expect(stderr).toContain("· $0 ·");
    const tokens = await pawl(["run", report, "--yes", "--max-tokens", "1", "--max-wall-clock", "1h"]);
    expect(tokens.code).toBe(4);
    expect(tokens.stderr).toContain("failed (max_tokens): The run reached its limit of tokens.");
    expect(stderr).toMatch(/To continue: pawl run --session [0-9a-f]{8} "Go on"/);
  });
});

describe("a pipe", () => {
  test("gets no colours and no lines that are written over", async () => {
    const { pawl } = createWorld(files);
    const { stdout, stderr } = await pawl(["run", report, "--yes"]);
    expect(stdout + stderr).not.toMatch(/\u001b|\r/);
  });

  test("whose reader exits is no failure: the work is done, and the rest goes to standard error", async () => {
    const { root, start } = createWorld(files);
    const running = start(["run", report, "--yes", "--json"], { input: "" });
    running.child.stdout?.destroy();
    const { code, stderr } = await running.ended;
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining("EPIPE") });
    expect(existsSync(join(root, "TODO-REPORT.md"))).toBe(true);
  });
});
