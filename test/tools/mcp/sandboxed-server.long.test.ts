/**
 * MCP servers in the sandbox: what they read, write and reach there, and what is left of them when Pawl is killed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { resolveServers } from "../../../src/cli/mcp/resolve-servers.js";
import { startServers } from "../../../src/cli/mcp/start-servers.js";
import { readFolderTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import type { AnyTool } from "../../../src/index.js";
import { connectMcpServer } from "../../../src/tools/mcp/index.js";
import { createSandbox, detectSandbox } from "../../../src/tools/sandbox/sandbox.js";
import { verifies } from "../../verifies.js";
import { awaitToolOutput, createToolContext } from "../folder.js";
import { findProcessesWith } from "../sandbox/left-processes.js";
import { createMachine, writeFiles } from "../sandbox/machine.js";

const script = fileURLToPath(new URL("../../fixtures/mcp-server.mjs", import.meta.url));

async function startHost(): Promise<string> {
  const server = createServer((_request, response) => response.end("reached\n"));
  server.listen(0, "127.0.0.2");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.2:${(server.address() as AddressInfo).port}`;
}

/** Runs a command with the first of these tools. */
async function runIn([tool]: readonly AnyTool[], command: string): Promise<string> {
  try {
    const output = await awaitToolOutput(tool?.execute?.({ command } as never, createToolContext()));
    return (output as { readonly text: string }).text;
  } catch (error) {
    return String(error);
  }
}

describe.runIf(detectSandbox() === "bubblewrap")("an MCP server in a sandbox", () => {
  test(
    "sees, writes and reaches what the sandbox names, and says what it was refused",
    verifies("BOX-1", "BOX-2"),
    async () => {
      const [listed, other] = [await startHost(), await startHost()];
      const machine = createMachine({ "a.txt": "of the folder\n" });
      writeFiles(machine.home, { ".ssh/id_rsa": "CANARY\n", "elsewhere/b.txt": "CANARY\n" });
      const sandbox = createSandbox({
        ...{ root: machine.root, mode: "required", show: [script], homeName: "notes" },
        ...{ hosts: [listed], addresses: ["127.0.0.2"] },
      });
      let said = "";
      const server = await connectMcpServer({
        name: "notes",
        transport: {
          type: "stdio",
          command: process.execPath,
          args: [script, "shell"],
          env: { TOKEN: "mine" },
          sandbox,
        },
        trust: "all",
        onStderr: (text) => {
          said += text;
        },
      });
      const run = (command: string) => runIn(server.tools, command);
      expect(await run("cat a.txt; echo $TOKEN; echo new > b.txt; pwd")).toBe(`of the folder\nmine\n${machine.root}\n`);
      expect(readFileSync(join(machine.root, "b.txt"), "utf8")).toBe("new\n");
      expect(
        await run(`cat ${machine.home}/.ssh/id_rsa; cat ../../elsewhere/b.txt; grep -rs CANARY /home /tmp /run`),
      ).not.toContain("CANARY");
      await run(`echo x > ../x; echo x > ${machine.home}/x; echo x > ${machine.home}/elsewhere/b.txt`);
      expect(readdirSync(machine.home).sort()).toEqual([".cache", ".ssh", "elsewhere", "work"]);
      expect(readdirSync(join(machine.home, "work"))).toEqual(["project"]);
      expect(readFileSync(join(machine.home, "elsewhere/b.txt"), "utf8")).toBe("CANARY\n");
      expect(await run(`curl -sS -m 5 http://${listed}/`)).toBe("reached\n");
      expect(said).toBe("");
      expect(await run(`curl -sS -m 5 http://${other}/; mkdir .vscode`)).toContain(`The sandbox refuses ${other}`);
      expect(said).toBe(
        `[sandbox] refused ${other}: it is not in the list of hosts\n[sandbox] the command created or changed .vscode, which other programs may run\n`,
      );
      // Commands of the folder have another home, so they cannot change what runs with the server's variables.
      await run("echo kept > ~/kept");
      expect(await machine.open().run("ls -A ~; cat ~/kept || echo none")).toMatch(/none\n\(exit code 0\)$/);
      // A server that died is started again, in the sandbox.
      expect(await run("kill -9 $PPID")).toMatch(/^Error: /);
      expect(await run(`cat ~/kept; cat ${machine.home}/.ssh/id_rsa || echo none`)).toMatch(/^kept\nnone\n/);
      await server.close();
      await sandbox.close();
      await vi.waitFor(() => expect(findProcessesWith(machine.root)).toEqual([]));
    },
  );

  test("leaves nothing running when Pawl is killed", verifies("BOX-5"), async () => {
    const machine = createMachine();
    const fixture = fileURLToPath(new URL("../../fixtures/sandboxed-mcp-server.mjs", import.meta.url));
    // It ignores that its standard input ends.
    const command = "setsid sh -c 'trap : TERM HUP; touch ready; sleep 1000; sleep 1000' > /dev/null 2>&1 &";
    const child = spawn(process.execPath, [fixture, JSON.stringify({ root: machine.root, server: script, command })], {
      stdio: "ignore",
      env: { ...process.env, HOME: machine.home },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await vi.waitFor(() => expect(existsSync(join(machine.root, "ready"))).toBe(true));
    expect(findProcessesWith(machine.root).length).toBeGreaterThan(1);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(findProcessesWith(machine.root)).toEqual([]));
    expect(readdirSync(machine.root)).toEqual(["ready"]);
  });

  test(
    "is asked for in the person's file, or by the person who trusts those of a folder",
    verifies("BOX-1", "SEC-17#servers"),
    async () => {
      const server = { command: process.execPath, args: [script, "shell"] };
      const theirs = { ...server, args: ["serve.mjs", "shell"] };
      const machine = createMachine({
        ".mcp.json": JSON.stringify({ mcpServers: { theirs } }),
        "serve.mjs": readFileSync(script, "utf8"),
        ".gitignore": "pawl\n",
      });
      const home = join(machine.root, "pawl");
      mkdirSync(home);
      vi.stubEnv("PAWL_HOME", home);
      writeFiles(machine.home, {
        ".ssh/id_rsa": "CANARY\n",
        "library/a.txt": "shown\n",
        ".config/pawl/mcp.json": JSON.stringify({
          mcpServers: {
            mine: { ...server, sandbox: { show: [script, "~/library"] } },
            free: server,
          },
        }),
      });
      writeFiles(home, { "sessions.db": "CANARY\n" });
      const folders = { root: machine.root, home };
      trustFiles(folders.root, home, readFolderTrust(folders.root, home).files, "ada", true);
      const started = await startServers(resolveServers(folders), folders.root);
      onTestFinished(started.close);
      const run = (name: string, line: string) =>
        runIn(
          started.tools.filter((tool) => tool.name.startsWith(`mcp__${name}__`)),
          line,
        );
      const read = `cat ${machine.home}/.ssh/id_rsa pawl/sessions.db ${machine.home}/library/a.txt`;
      expect(started.all.map(({ name, sandbox, problems }) => [name, sandbox, problems])).toEqual([
        ["mine", { show: [script, "~/library"] }, []],
        ["free", null, []],
        ["theirs", {}, []],
      ]);
      expect(await run("free", read)).toBe("CANARY\nCANARY\nshown\n");
      expect(await run("mine", read)).toMatch(/^shown\n(?!.*CANARY)/s);
      expect(await run("theirs", read)).not.toMatch(/CANARY|shown/);
      expect(await run("theirs", "cat .gitignore")).toBe("pawl\n");
    },
  );
});
