/**
 * Jobs that are done, in a file, so that hours of work can be stopped and carried on. They count only for the same code and the same Node:
 * otherwise the file begins anew.
 */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import ts from "typescript";

/**
 * Opens the file. `answerOf` gives the answer that was kept for a job; `keep` adds one, as one line.
 *
 * @param {string} file
 * @param {string} code what the answers depend on, by `hashOfCode`
 */
export function openKeptJobs(file, code) {
  const head = JSON.stringify({ code, node: process.version });
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const isSame = lines[0] === head;
  // The last line may have been cut off by the end of the process.
  const whole = isSame ? lines.slice(1, -1) : [];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, [head, ...whole, ""].join("\n"));
  const answers = new Map(whole.map((line) => JSON.parse(line)).map((answer) => [JSON.stringify(answer.job), answer]));
  return {
    answerOf: (job) => answers.get(JSON.stringify(job)),
    keep: (answer) => appendFileSync(file, `${JSON.stringify(answer)}\n`),
  };
}

/** A hash of programs: of their first files, and of every file of the project that these import. */
export function hashOfCode(...first) {
  const hash = createHash("sha256");
  const seen = new Set();
  const waiting = [...first];
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    hash.update(`${file}\n${text}\n`);
    const imported = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
    waiting.push(...imported.filter((name) => name.startsWith(".")).map((name) => join(dirname(file), name)));
  }
  return hash.digest("hex");
}
