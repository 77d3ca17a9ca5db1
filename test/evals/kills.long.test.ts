/**
 * An eval whose process is killed goes on without paying twice.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { verifies } from "../verifies.js";

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-answers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test(
  "The answers of a process that was killed are kept, but for those that were under way",
  verifies("EVAL-2#resume"),
  async () => {
    const folder = createFolder();
    const dist = new URL("../../dist/", import.meta.url).href;
    const program = `
    import { appendFileSync } from "node:fs";
    import { createAgent } from "${dist}index.js";
    import { evaluate, sameAnswer } from "${dist}evals/index.js";
    const model = {
      id: "slow",
      async *stream({ messages }) {
        const { text } = messages[0].parts[0];
        appendFileSync("${folder}/asked", "x");
        await new Promise((resolve) => setTimeout(resolve, 2));
        yield { kind: "text-start", id: "1" };
        yield { kind: "text-delta", id: "1", text: text.toUpperCase() };
        yield { kind: "text-end", id: "1" };
        yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 1, outputTokens: 1 } };
      },
    };
    const cases = Array.from({ length: 60 }, (_, index) => ({
      v: 1,
      name: "case-" + index,
      turns: [{ input: [{ role: "user", parts: [{ type: "text", text: "say " + index }] }] }],
      expected: { text: "SAY " + index },
    }));
    const report = await evaluate({
      name: "kill",
      agent: createAgent({ model }),
      cases,
      judges: [sameAnswer()],
      answers: "${folder}/answers.jsonl",
      onTrial: (_, { done }) => console.log(done),
    });
    console.log(JSON.stringify(report.trials.map((trial) => [trial.case, trial.passed])));
  `;
    const start = () =>
      spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    let kills = 0;
    for (const killAt of [5, 20, 35]) {
      const child = start();
      child.stdout.on("data", (text: Buffer) => {
        if (
          String(text)
            .split("\n")
            .some((line) => Number(line) >= killAt)
        )
          child.kill("SIGKILL");
      });
      const [, signal] = await once(child, "close");
      if (signal === "SIGKILL") kills += 1;
    }
    const last = start();
    let output = "";
    last.stdout.on("data", (text: Buffer) => {
      output += String(text);
    });
    await once(last, "close");
    const trials: readonly (readonly [string, boolean])[] = JSON.parse(output.trim().split("\n").at(-1) ?? "[]");
    expect(trials).toHaveLength(60);
    expect(trials.every(([, passed]) => passed)).toBe(true);
    // Four trials were under way at each kill.
    const paidTwice = readFileSync(join(folder, "asked"), "utf8").length - 60;
    expect(kills).toBe(3);
    expect(paidTwice).toBeGreaterThanOrEqual(0);
    expect(paidTwice).toBeLessThanOrEqual(4 * kills);
  },
);
