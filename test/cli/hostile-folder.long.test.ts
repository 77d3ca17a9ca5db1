/**
 * A hostile folder is opened by every command, each in a process of its own: nothing of it runs before it is trusted.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openProgram } from "../terminal/pseudo-terminal.js";
import { verifies } from "../verifies.js";
import { fillHostileFolder, installBare } from "./hostile-folder.js";
import { createWorld, pawlProgram, type RunningProcess } from "./pawl.js";

/** The key of a provider that Pawl does not bring: its package is in the folder only. */
const keys = { GROQ_API_KEY: "secret-key", ANTHROPIC_API_KEY: "" };

const untrusted = verifies("SEC-17");

const installation = mkdtempSync(join(tmpdir(), "pawl-bare-"));
const barePawl = installBare(installation);
afterAll(() => rmSync(installation, { recursive: true, force: true }));

type Which = "whole" | "bare";

function hostileWorld(which: Which) {
  const world = createWorld();
  const canaries = fillHostileFolder(world);
  const file = which === "bare" ? barePawl : pawlProgram;
  const launch = (args: readonly string[], input?: string): RunningProcess =>
    world.startNode(file, args, { env: keys, ...(input === undefined ? {} : { input }) });
  return { ...world, canaries, file, launch };
}

const toTheEnd: readonly (readonly string[])[] = [
  ["run", "List the files", "--model", "demo", "--yes", "--allow-shell"],
  ["run", "List the files"],
  ["worker", "--once", "--yes", "--allow-shell"],
  ["doctor"],
  ["sessions"],
  ["approvals"],
  ["config"],
  ["config", "schema"],
  ["trust", "--show"],
  ["mcp", "list"],
  ["mcp", "test", "own"],
  ["mcp", "show", "own"],
  ["permissions"],
  ["completion", "bash"],
  ["replay", "none"],
  ["trace", "none"],
  ["resume", "none"],
  ["--help"],
  ["--version"],
];

describe.each(["whole", "bare"] as const)(
  "nothing of a hostile folder runs before trust, with the %s installation:",
  (which) => {
    test("commands that end by themselves", { timeout: 300_000 }, async () => {
      const { launch, canaries } = hostileWorld(which);
      const ofFolder = ["run", "List the files", "--model", "groq/x", "--yes"];
      for (const args of which === "whole" ? toTheEnd : [ofFolder, ...toTheEnd.slice(0, 3)]) {
        const { code } = await launch(args, "").ended;
        expect([args, code === null, canaries()]).toEqual([args, false, []]);
      }
    });

    test("commands that read a session of the folder, and carry it on", { timeout: 300_000 }, async () => {
      const { launch, canaries } = hostileWorld(which);
      const session = ["--session", "mine"];
      await launch(["run", "List the files", "--model", "demo", ...session], "").ended;
      const lines: readonly (readonly string[])[] = [
        ["replay", "mine"],
        ["trace", "mine"],
        ["resume", "mine", "--model", "demo", "--yes"],
        ["sessions", "show", "mine"],
        ["sessions", "export", "mine"],
        ["fork", "mine", "--input", "Once more", "--model", "demo", "--yes"],
        ["run", "List the files", "--continue", "--model", "demo", "--allow-shell", "--allow", "shell(git status *)"],
      ];
      for (const args of which === "whole" ? lines : lines.slice(0, 3)) {
        const { code, stderr } = await launch(args, "").ended;
        expect([args, code === null, stderr.includes("no session"), canaries()]).toEqual([args, false, false, []]);
      }
    });

    test("pawl ui, with a session that it shows and carries out", untrusted, async () => {
      const { launch, canaries } = hostileWorld(which);
      await launch(["run", "List the files", "--model", "demo", "--session", "mine"], "").ended;
      const showing = launch(["ui", "--port", "0", "--model", "demo", "--yes", "--allow-shell"]);
      let shown = "";
      for (const stream of [showing.child.stdout, showing.child.stderr])
        stream?.on("data", (text: string) => {
          shown += text;
        });
      await showing.said(/http:\/\/127\.0\.0\.1:\d+/);
      const [origin = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(shown) ?? [];
      expect((await fetch(`${origin}/`)).status).toBeLessThan(500);
      showing.kill("SIGTERM");
      await showing.ended;
      expect(canaries()).toEqual([]);
    });

    test("pawl acp, with a session", untrusted, async () => {
      const { launch, canaries, root } = hostileWorld(which);
      const messages = [
        { id: 0, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
        { id: 1, method: "session/new", params: { cwd: root, mcpServers: [] } },
      ];
      const acp = launch(["acp", "--model", "demo", "--yes"]);
      for (const message of messages) {
        acp.type(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
        if (which === "whole") await acp.said(`"id":${message.id}`);
      }
      acp.child.stdin?.end();
      const { stderr } = await acp.ended;
      if (which === "bare") expect(stderr).toContain("@agentclientprotocol/sdk");
      expect(canaries()).toEqual([]);
    });

    test("pawl mcp, with a call", untrusted, async () => {
      const { launch, canaries } = hostileWorld(which);
      const messages = [
        {
          id: 0,
          method: "initialize",
          params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "0" } },
        },
        { method: "notifications/initialized" },
        { id: 1, method: "tools/call", params: { name: "pawl", arguments: { prompt: "List the files" } } },
      ];
      const mcp = launch(["mcp", "--model", "demo", "--yes"]);
      mcp.type(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
      if (which === "whole") await mcp.said(/"id":1\b/);
      mcp.child.stdin?.end();
      const { stderr } = await mcp.ended;
      if (which === "bare") expect(stderr).toContain("@modelcontextprotocol/server");
      expect(canaries()).toEqual([]);
    });

    test("pawl serve, with a session and a request of MCP", untrusted, async () => {
      const { launch, canaries } = hostileWorld(which);
      const serving = launch(["serve", "--port", "0", "--model", "demo"]);
      let stderr = "";
      serving.child.stderr?.on("data", (text: string) => {
        stderr += text;
      });
      await serving.said(/executed (?:here|elsewhere)/);
      const [, url = ""] = /listens on (http:\S+)/.exec(stderr) ?? [];
      const [, token = ""] = /^Token, for this start only: (\S+)$/m.exec(stderr) ?? [];
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const post = (path: string, body: object) =>
        fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      await post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
      await post("/sessions", { agent: "pawl", input: "List the files" });
      serving.kill("SIGTERM");
      await serving.ended;
      expect(canaries()).toEqual([]);
    });

    test("pawl, a conversation in which the person looks around and trusts nothing", untrusted, async () => {
      const { canaries, file, ...world } = hostileWorld(which);
      const args = ["--no-warnings", file, "--model", "demo", "--allow-shell"];
      const person = openProgram(world, process.execPath, args, { env: keys });
      await person.sees("not now: continue without it");
      person.type("\r");
      await person.sees("Not trusted");
      for (const [typed, seen] of [
        ["/skills", /x/],
        ["/mcp", /own/],
        ["/status", /demo/],
        ["List the files @AGENTS.md", /To use an LLM[\s\S]*ready/],
      ] as const) {
        person.type(`${typed}\r`);
        await person.sees(seen);
      }
      person.type("\u0004");
      await person.ended;
      expect(canaries()).toEqual([]);
    });
  },
);

test("the hostile folder is one: what it has does run if it is started", untrusted, () => {
  const world = createWorld();
  const canaries = fillHostileFolder(world);
  spawnSync("git", ["status"], { cwd: world.root });
  spawnSync(process.execPath, ["-e", 'require("@agentclientprotocol/sdk"); require("./server.js")'], {
    cwd: world.root,
  });
  spawnSync("sh", ["node_modules/.bin/git"], { cwd: world.root });
  expect(canaries()).toEqual(
    expect.arrayContaining(["git-fsmonitor", "mcp-server", "package-@agentclientprotocol_sdk", "program-git"]),
  );
});
