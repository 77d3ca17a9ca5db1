/**
 * The agent of the command line with commands in the sandbox: what it asks for is asked about durably, and counts for exactly this call;
 * secrets of the person are not in the log, whatever the model asks commands for.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { toAgentChoices } from "../../src/cli/agent/agent-choices.js";
import { createFolderAgent } from "../../src/cli/agent/folder-agent.js";
import { saveRule } from "../../src/cli/permissions/save-rule.js";
import type { Json } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { locateCommandHome } from "../../src/tools/sandbox/command-home.js";
import { detectSandbox } from "../../src/tools/sandbox/sandbox.js";
import { startProviderServer } from "../models/provider-server.js";
import { createMachine, writeFiles } from "../tools/sandbox/machine.js";
import { verifies } from "../verifies.js";
import { createWorld as createProgramWorld } from "./pawl.js";

const call = (input: { readonly [field: string]: Json }) => ({ calls: [{ name: "shell", input }] });

/** A host of this machine that commands may be allowed to reach, with what it was asked for. */
async function startHost() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("reached\n");
  });
  server.listen(0, "127.0.0.2");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { host: `127.0.0.2:${(server.address() as AddressInfo).port}`, asked };
}

async function createWorld(settings: object = {}) {
  const machine = createMachine({ "a.txt": "a\n" });
  const home = join(machine.base, "pawl");
  mkdirSync(home);
  const own = { shell: { addresses: ["127.0.0.2"], ...settings } };
  writeFiles(machine.home, { ".config/pawl/pawl.config.json": JSON.stringify(own) });
  const path = join(home, "sessions.db");
  /** As a process that starts: nothing but the store is left of an earlier one. */
  const start = async (script: Parameters<typeof createScriptedModel>[0], options: object = {}) => {
    const store = await openSqliteStore({ path });
    const folders = { root: machine.root, home };
    const choices = toAgentChoices({ allowShell: true, ...options }, folders);
    const agent = createFolderAgent({ store, ...folders, model: createScriptedModel(script), ...choices });
    return { agent, store, permissions: choices.permissions };
  };
  return {
    ...machine,
    start,
    logOf: () =>
      execFileSync("cat", [path, `${path}-wal`], {
        encoding: "latin1",
        maxBuffer: 1e9,
        stdio: ["ignore", "pipe", "ignore"],
      }),
  };
}

describe.runIf(detectSandbox() === "bubblewrap")("a command that asks for a host", () => {
  test("waits through a restart, and reaches exactly what was approved", verifies("BOX-2"), async () => {
    const { host, asked } = await startHost();
    const world = await createWorld();
    const get = `curl -sS -m 5 http://${host}/`;
    const first = await world.start([call({ command: `${get}one`, hosts: [host] })]);
    const waiting = await first.agent.run("Go", { sessionId: "s" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    expect(waiting.approvals).toMatchObject([{ question: `It may reach ${host} while it runs.` }]);
    const callKey = waiting.approvals[0]?.callKey ?? "";
    await first.store.close();

    const { agent } = await world.start([call({ command: `${get}two` }), { text: "done" }]);
    await agent.session("s").answer(callKey, { type: "approve" });
    const next = await agent.session("s").resume();
    if (next.status !== "awaiting_human") throw new Error(next.status);
    // The next command asks for itself, and has nothing of what the first one was given.
    await agent.session("s").answer(next.approvals[0]?.callKey ?? "", { type: "approve" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(asked).toEqual(["/one"]);
    const results = [];
    for await (const event of agent.session("s").events({ live: false, follow: false }))
      if (event.type === "tool_result") results.push(JSON.stringify(event.output));
    expect(results).toEqual([
      expect.stringContaining("reached"),
      expect.stringContaining(`the sandbox refused ${host}`),
    ]);
  });

  test(
    "asks again after an edit of its hosts by the person, and a rule that denies by then is stronger",
    verifies("BOX-2"),
    async () => {
      const { host, asked } = await startHost();
      const world = await createWorld();
      const { agent, permissions } = await world.start([
        call({ command: `curl -sS http://${host}/`, hosts: [host] }),
        { text: "done" },
      ]);
      const waiting = await agent.run("Go", { sessionId: "s" });
      if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
      await saveRule({ permissions, session: null, by: "ada" }, "user", "deny", { rule: `reach(${host})` });
      await agent.session("s").answer(waiting.approvals[0]?.callKey ?? "", { type: "approve" });
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
      expect(asked).toEqual([]);
    },
  );
});

describe.runIf(detectSandbox() === "bubblewrap")("secrets of the person", () => {
  test(
    "are not in the log after a session that asks for all of them, with --yes",
    verifies("BOX-1", "BOX-3"),
    async () => {
      const world = await createWorld();
      const secrets = [
        ".ssh/id_rsa",
        ".aws/credentials",
        ".netrc",
        ".npmrc",
        "Documents/tax",
        "work/other/.env",
        ".config/pawl/mcp.json",
      ];
      writeFiles(world.home, Object.fromEntries(secrets.map((path) => [path, "CANARY-OF-THE-PERSON\n"])));
      const commands: { readonly [field: string]: Json }[] = [
        ...secrets.map((path) => ({ command: `cat ${world.home}/${path} ~/${path}` })),
        { command: `grep -rs CANARY ${world.base} /home /run /tmp /var | head; cat ../other/.env` },
        { command: `cat ${world.base}/pawl/sessions.db | strings` },
        { command: "cat ~/.netrc", outside: true, why: "Please." },
        { command: "env; cat /proc/*/environ" },
      ];
      const { agent, store } = await world.start([...commands.map(call), { text: "done" }], { yes: true });
      let result = await agent.run("Go", { sessionId: "s" });
      // Only what leaves the sandbox waits for a person, who does not want it.
      expect(result.status).toBe("awaiting_human");
      while (result.status === "awaiting_human") {
        expect(result.approvals).toMatchObject([{ input: { outside: true } }]);
        await agent.session("s").answer(result.approvals[0]?.callKey ?? "", { type: "deny" });
        result = await agent.session("s").resume();
      }
      expect(result).toMatchObject({ status: "completed" });
      await store.close();
      const log = world.logOf();
      expect(log).toContain("cat ~/.netrc");
      expect(log).not.toContain("CANARY-OF-THE-PERSON");
      expect(readFileSync(join(world.home, ".netrc"), "utf8")).toContain("CANARY");
    },
  );
});

describe("a machine whose sandbox does not work", () => {
  /** With this program in the place of bubblewrap. */
  function createBrokenWorld(line: string) {
    const world = createProgramWorld();
    const folder = join(world.base, "bin");
    writeFiles(folder, {
      bwrap: `#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.1 && exit\necho "bwrap: ${line}" >&2\nexit 1\n`,
    });
    chmodSync(join(folder, "bwrap"), 0o755);
    return { ...world, env: { PATH: `${folder}:${process.env.PATH}` } };
  }

  test("is told by doctor, at the start of a run, and in the result of each command", verifies("BOX-4"), async () => {
    const { pawl, env } = createBrokenWorld("No permissions to create new namespace");
    const why = "bubblewrap 0.9.1 fails: No permissions to create new namespace";
    expect((await pawl(["doctor"], { env })).stdout).toContain(`• sandbox   Commands are not sandboxed: ${why}.`);
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [{ name: "shell", input: { command: "true" } }] },
      { type: "answer", text: "Done." },
    ]);
    onTestFinished(() => server.close());
    const run = ["run", "Hello", "--allow-shell", "--yes", "--model", "openai-compatible/test"];
    expect(await pawl(run, { env: { ...env, OPENAI_BASE_URL: server.baseURL } })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`Commands are not sandboxed: ${why}.`),
    });
    expect(JSON.stringify(server.requests[1]?.body)).toContain(`not sandboxed: ${why}`);
  });
});

test.runIf(detectSandbox() === "bubblewrap")(
  "doctor says how to remove a home of commands that has grown large, and pawl sandbox clean removes all of a folder",
  verifies("BOX-4"),
  async () => {
    const world = createProgramWorld();
    const cache = join(world.base, "cache");
    const env = { XDG_CACHE_HOME: cache };
    const homes = [undefined, "mcp docs"].map((name) => locateCommandHome(join(cache, "pawl"), world.root, name));
    for (const path of homes) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "large"), "");
      // It takes no space: nothing is written to it.
      truncateSync(join(path, "large"), 1_126 * 1024 ** 2);
    }
    expect((await world.pawl(["doctor"], { env })).stdout).toMatch(
      /• sandbox {3}bubblewrap [^\n]*Their home folder takes up 2252 MB: pawl sandbox clean removes it/,
    );
    expect((await world.pawl(["sandbox", "clean"], { env })).stdout).toContain(
      "Removed the home folder of commands (2252 MB).",
    );
    expect(readdirSync(join(cache, "pawl/homes"))).toEqual([]);
  },
);

describe("a folder without a sandbox", () => {
  /** The home is the folder, so commands cannot be kept from it. */
  async function runIn(mode: "auto" | "required", ...args: readonly string[]) {
    const settings = JSON.stringify({ shell: { sandbox: mode } });
    const world = createProgramWorld({ ".config/pawl/pawl.config.json": settings });
    return await world.pawl(args, { env: { HOME: world.root } });
  }
  const why = "the folder is your home, or contains it. Work in a folder below your home.";

  test(
    "is told at the start of a run and by doctor, and refused if a sandbox is required",
    verifies("BOX-4"),
    async () => {
      const run = ["run", "Hello", "--allow-shell", "--model", "demo"];
      expect(await runIn("auto", ...run)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`Commands are not sandboxed: ${why}`),
      });
      expect((await runIn("auto", "doctor")).stdout).toContain(`• sandbox   Commands are not sandboxed: ${why}`);
      expect(await runIn("required", ...run)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`Commands cannot be sandboxed: ${why}`),
      });
      expect((await runIn("required", "doctor")).stdout).toContain(`✗ sandbox   Commands cannot be sandboxed: ${why}`);
    },
  );
});
