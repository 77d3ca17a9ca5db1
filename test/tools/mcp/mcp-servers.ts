/**
 * A published MCP server over HTTP, as a real child process.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, vi } from "vitest";
import { resolveCheckTool } from "../../support/check-tools.js";

/** Starts server-everything for a test; gives its address. */
export async function startEverythingServer(): Promise<string> {
  const port = await findFreePort();
  const script = resolveCheckTool("@modelcontextprotocol/server-everything/dist/index.js");
  const child = spawn(process.execPath, [script, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderrText = "";
  child.stderr.on("data", (bytes) => {
    stderrText += bytes;
  });
  await vi.waitFor(() => expect(stderrText).toContain(String(port)));
  return `http://127.0.0.1:${port}/mcp`;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
