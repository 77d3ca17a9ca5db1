/**
 * An eval whose process is killed at random goes on without paying twice, and ends with the report of one that was never killed.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Report } from "../../src/evals/index.js";
import { verifies } from "../verifies.js";

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-answers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const dist = new URL("../../dist/", import.meta.url).href;

/** An eval of 60 cases, the last of which fails. Its answers and the questions to its model are in the folder. */
const createProgram = (folder: string) => `
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
    expected: { text: index === 59 ? "SOMETHING ELSE" : "SAY " + index },
  }));
  const report = await evaluate({
    name: "kill",
    agent: createAgent({ model }),
    cases,
    judges: [sameAnswer()],
    answers: "${folder}/answers.jsonl",
    onTrial: (_, { done }) => console.log(done),
  });
  console.log(JSON.stringify(report));
`;

/** @param killAt after how many trials the process is killed */
async function play(folder: string, killAt = Number.POSITIVE_INFINITY) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", createProgram(folder)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (text: Buffer) => {
    output += String(text);
    if (output.split("\n").some((line) => Number(line) >= killAt)) child.kill("SIGKILL");
  });
  const [, signal] = await once(child, "close");
  return { signal, lastLine: output.trim().split("\n").at(-1) ?? "" };
}

const countAsked = (folder: string) => readFileSync(join(folder, "asked"), "utf8").length;

/** Without what a killed eval may have otherwise: which answers were kept, and how long it took. */
function withoutCircumstances(line: string): Pick<Report, "trials" | "variants"> {
  const { trials, variants }: Report = JSON.parse(line);
  return { variants, trials: trials.map((trial) => ({ ...trial, asked: 0, kept: 0, durationMs: 0 })) };
}

test(
  "The answers of a process that was killed are kept, but for those that were under way, and the report is the same",
  verifies("EVAL-2#resume"),
  async () => {
    const folder = createFolder();
    const kills = [1, 2, 3].map((third) => (third - 1) * 20 + randomInt(1, 12));
    for (const killAt of kills) expect((await play(folder, killAt)).signal, `killed at ${killAt}`).toBe("SIGKILL");
    const { lastLine } = await play(folder);
    const undisturbed = createFolder();
    const expected = withoutCircumstances((await play(undisturbed)).lastLine);
    expect(expected.variants).toMatchObject({ agent: { passed: 59, trials: 60 } });
    expect(withoutCircumstances(lastLine), `killed at ${kills.join(", ")}`).toEqual(expected);
    expect(countAsked(undisturbed)).toBe(60);
    // Four trials are under way at once.
    const paidTwice = countAsked(folder) - 60;
    expect(paidTwice).toBeGreaterThanOrEqual(0);
    expect(paidTwice).toBeLessThanOrEqual(4 * kills.length);
  },
);
