/**
 * A login to an MCP server that several processes share.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fileCredentials, logInToMcpServer } from "../../src/tools/mcp/index.js";
import { verifies } from "../verifies.js";
import { createTempFolder } from "./folder.js";
import { type LoginServer, startLoginServer, visit } from "./login-server.js";

const script = resolve("test/fixtures/mcp-login-user.mjs");

async function logIn({ url }: LoginServer): Promise<string> {
  const file = join(createTempFolder(), "logins.json");
  await logInToMcpServer({ url, login: { as: "person", credentials: fileCredentials(file), show: visit } });
  return file;
}

function start(act: "calls" | "holds", file: string, { url }: LoginServer, calls = 0) {
  const child = spawn(process.execPath, [script, act, file, url, String(calls)], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let written = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes) => {
      written += bytes;
    });
  return { child, written: () => written, ended: once(child, "close").then(([code]) => code as number | null) };
}

test("four processes refresh it once at each expiry, and none is logged out", verifies("PROT-6#login"), async () => {
  const server = await startLoginServer(20);
  const file = await logIn(server);
  const users = Array.from({ length: 4 }, () => start("calls", file, server, 20));
  expect(await Promise.all(users.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
  expect(users.map(({ written }) => written())).toEqual(Array.from({ length: 4 }, () => "done\n"));
  expect(server.counts).toMatchObject({ logins: 1, reuses: 0, calls: 80 });
  expect(server.counts.refreshes).toBeGreaterThan(2);
});

test("the lock of a process that was killed is taken over", verifies("PROT-6#login"), async () => {
  const server = await startLoginServer();
  const file = await logIn(server);
  const holder = start("holds", file, server);
  await expect.poll(holder.written).toBe("held\n");
  server.expire();
  const user = start("calls", file, server, 1);
  const stillWaits = fileCredentials(file).alone(server.url, async () => "came", AbortSignal.timeout(200));
  await expect(stillWaits).rejects.toThrow();
  holder.child.kill("SIGKILL");
  expect(await user.ended).toBe(0);
  expect(server.counts).toMatchObject({ logins: 1, refreshes: 1, reuses: 0 });
});
