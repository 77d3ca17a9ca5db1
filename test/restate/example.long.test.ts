/**
 * The service of examples/restate, started as its page says.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { rolldown } from "rolldown";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ObjectStatus } from "../../src/restate/index.js";
import { waitUntil } from "../processes/rig.js";
import { freePorts, hasRestate, useRestate } from "../support/restate.js";
import { verifies } from "../verifies.js";

/** The program, compiled into this checkout: there it finds the built package. */
async function compile(): Promise<string> {
  const file = resolve("temp/examples-restate/service.mjs");
  const build = await rolldown({ input: "examples/restate/service.ts", external: /^[^./]/, platform: "node" });
  await build.write({ file, format: "esm" });
  await build.close();
  return file;
}

describe.runIf(hasRestate)("the example", verifies("DIST-3"), () => {
  const server = useRestate();

  test("asks about a large refund, is answered, and stops on SIGTERM", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-example-restate-"));
    const [port] = await freePorts(1);
    const service: ChildProcess = spawn(process.execPath, [await compile()], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, PAWL_HOME: folder, PORT: String(port), RESTATE_LOGGING: "ERROR" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => {
      service.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    });
    if (service.stdout !== null) await once(createInterface(service.stdout), "line");
    const { call, register } = server();
    await register(`http://localhost:${port}`);

    const status = async (): Promise<ObjectStatus> => (await call("/Pawl/ticket-1/status")).json;
    const request = { input: "Refund 100 euros of order 1041", options: { agent: "support" } };
    expect(await call("/Pawl/ticket-1/send", request)).toMatchObject({ status: 200, json: { isNew: true } });
    await waitUntil(
      async () => ["awaiting_human", "completed"].includes((await status()).status),
      "the run does not end",
    );
    for (const { callKey } of (await status()).approvals) {
      const answer = { callKey, decision: { type: "approve" }, options: { by: "ada" } };
      expect(await call("/Pawl/ticket-1/answer", answer)).toEqual({ status: 200, json: "first" });
    }
    await waitUntil(async () => (await status()).status === "completed", "the run does not end");

    const ended = once(service, "exit");
    service.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
