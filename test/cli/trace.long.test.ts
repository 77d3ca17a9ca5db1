import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const proven = verifies("TRC-1", "CLI-4#trace");
const task = "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md";

describe("pawl trace", proven, () => {
  test("shows the steps of each run, with a bar for what took time", async () => {
    const { pawl } = createWorld({ "src/a.ts": "// TODO: one\n" });
    await pawl(["run", task, "--yes", "--session", "traced"]);
    const { code, stdout, stderr } = await pawl(["trace", "trac"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^run [0-9a-z]{8} · completed \(stop\) · 4 steps · .* · Find the TODO comments/);
    expect(stdout).toMatch(/\nstep 1 · 1 message\n {2}demo +█+ +\d+ ms {2}tool-calls, \d+ in \d+ out, first \d+ ms\n/);
    expect(stdout).toMatch(/\n {2}write_file +▓+ +\d+ ms {2}ok\n/);
    expect(stdout).not.toContain("\u001b");
  });

  test("prints the records, one per line, and those of one run with --run", async () => {
    const { pawl } = createWorld({ "src/a.ts": "// TODO: one\n" });
    await pawl(["run", task, "--yes", "--session", "traced"]);
    await pawl(["run", "Hello", "--session", "traced"]);
    const records = parseJsonLines((await pawl(["trace", "traced", "--json"])).stdout);
    expect(records.map(({ type }) => type)).toEqual([
      ...["run_started", "step", "step", "step", "step", "run_finished"],
      ...["run_started", "step", "step", "step", "run_finished"],
    ]);
    expect(records[2]).toMatchObject({
      modelCallIndex: 2,
      attempts: [{ model: "demo", finishReason: { unified: "tool-calls" } }],
      calls: [{ name: "search_files", outcome: "ok" }, { name: "search_files" }],
    });
    const { runId } = records.at(-1);
    const one = parseJsonLines((await pawl(["trace", "traced", "--run", runId.slice(0, 10), "--json"])).stdout);
    expect(one).toEqual(records.slice(-5));
  });

  test("shows what waits now, for whom", async () => {
    const { pawl } = createWorld({ "src/a.ts": "// TODO: one\n" });
    expect((await pawl(["run", task, "--park", "--session", "parked"])).code).toBe(3);
    const { stdout } = await pawl(["trace", "parked"]);
    expect(stdout).toMatch(/^run [0-9a-z]{8} · in progress · /);
    expect(stdout).toMatch(/\nstep 3 · \d+ messages · under way\n/);
    expect(stdout).toMatch(/\n {2}write_file +·{6} .* for a person\n/);
  });

  test("has messages and results with --content, and no key in them", verifies("TRC-2", "SEC-14"), async () => {
    const { pawl } = createWorld({});
    const key = `sk-ant-${"k".repeat(40)}`;
    await pawl(["run", `Say ${key}`, "--session", "secret"]);
    for (const args of [[], ["--json"], ["--json", "--content"]]) {
      const { stdout } = await pawl(["trace", "secret", ...args]);
      expect(stdout).toContain("sk-ant-[redacted]");
      expect(stdout).not.toContain("kkkk");
    }
    const [, step] = parseJsonLines((await pawl(["trace", "secret", "--json", "--content"])).stdout);
    expect(step.attempts[0].text).toBeTypeOf("string");
    const [, silent] = parseJsonLines((await pawl(["trace", "secret", "--json"])).stdout);
    expect(silent.attempts[0].text).toBeUndefined();
  });

  test("of what is not there is a mistake that says what to do", async () => {
    const { pawl } = createWorld({});
    await pawl(["run", "Hello", "--session", "known"]);
    expect(await pawl(["trace", "nothing"])).toMatchObject({ code: 2, stderr: expect.stringContaining("no session") });
    expect(await pawl(["trace", "known", "--run", "zz"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"pawl trace known" shows all of them'),
    });
    const help = await pawl(["trace", "--help"]);
    expect(help.stdout).toContain("$ pawl trace 3f8c");
  });
});
