/**
 * Applies the mutants of scripts/mutants-list.mjs to copies of the compiled simulation, one by one. Fails when one survives its check.
 *
 *     npm run mutants                     all of them
 *     npm run mutants -- --only fencing   those whose name has this, or one of several (a,b), in it
 *     npm run mutants -- --write          also writes docs/mutants.md
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compiled, compileSimulation, simulationFolder } from "./compile-simulation.mjs";
import { mutants } from "./mutants-list.mjs";

const page = "docs/mutants.md";
const folder = "temp/mutants";
const longestMs = 900_000;

const { values: options } = parseArgs({
  options: { only: { type: "string", default: "" }, write: { type: "boolean", default: false } },
});
const chosen = mutants.filter(({ name }) => options.only.split(",").some((part) => name.includes(part)));
const checks = new Map(chosen.map((mutant) => [`${mutant.check} ${mutant.tests ?? storeOf(mutant)}`, mutant]));

compileSimulation();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const sound = await inCopies(
  [...checks].map(([name, mutant]) => ({ ...mutant, name: `nothing broken: ${name}`, replace: mutant.find })),
);
const found = await inCopies(chosen);
rmSync(folder, { recursive: true });

const falseAlarms = sound.filter(({ isKilled }) => isKilled);
const survivors = found.filter(({ isKilled }) => !isKilled);
for (const { name, by } of falseAlarms) console.error(`${name}, and yet: ${by}`);
for (const { name, check } of survivors) console.error(`survived: ${name} (${check})`);
console.log(`${found.length - survivors.length} of ${found.length} mutants were found.`);
if (options.write && options.only === "") writeFileSync(page, pageOf(found));
process.exitCode = falseAlarms.length + survivors.length > 0 ? 1 : 0;

function storeOf({ file }) {
  return file.includes("sqlite") ? "SQLite" : "memory";
}

/** Several at a time, each in a copy of its own. The outcomes are in the order of the mutants. */
async function inCopies(all) {
  const outcomes = [];
  const waiting = [...all.entries()];
  await Promise.all(
    Array.from({ length: Math.min(availableParallelism(), all.length) }, async (_, copy) => {
      const copyFolder = join(folder, `copy-${copy}`);
      cpSync(simulationFolder, copyFolder, { recursive: true });
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, mutant] = next;
        outcomes[index] = await judge(mutant, copyFolder);
        const { isKilled, by } = outcomes[index];
        console.log(`${isKilled ? "found   " : "passed  "} ${mutant.name}${isKilled ? `: ${by.slice(0, 160)}` : ""}`);
      }
    }),
  );
  return outcomes;
}

async function judge(mutant, copyFolder) {
  const { file, find, replace } = mutant;
  const source = readFileSync(file, "utf8");
  if (source.split(find).length !== 2) throw new Error(`"${mutant.name}" has no place, or several, in ${file}.`);
  if (mutant.check === "tests") return await judgeByTests(mutant);
  const target = join(copyFolder, file.replace(/\.ts$/, ".js"));
  const before = readFileSync(target);
  writeFileSync(target, compiled(source.replace(find, () => replace)));
  const { code, output } = await run(["scripts/mutant-check.mjs", copyFolder, mutant.check, storeOf(mutant)]);
  writeFileSync(target, before);
  return { ...mutant, isKilled: code !== 0, by: code === null ? "it never ends" : output.trim() };
}

/** The tests load the source itself, with the defect put in on the way. */
async function judgeByTests(mutant) {
  const { tests, file, find, replace } = mutant;
  const vitest = join("node_modules", "vitest", "vitest.mjs");
  const { code, output } = await run(
    [vitest, "run", "--config", "scripts/mutants.vitest.mjs", "--reporter", "json", tests],
    { PAWL_MUTANT: JSON.stringify({ file, find, replace }) },
  );
  if (code === null) return { ...mutant, isKilled: true, by: "it never ends" };
  const [failed] = JSON.parse(output.slice(output.indexOf("{")))
    .testResults.flatMap(({ assertionResults, message }) =>
      assertionResults.length > 0 ? assertionResults : [{ status: "failed", title: tests, failureMessages: [message] }],
    )
    .filter(({ status }) => status === "failed");
  const [first = ""] = (failed?.failureMessages[0] ?? "").split("\n");
  // What Vitest says of a test that took too long.
  const why = first.endsWith("STACK_TRACE_ERROR") ? "it never ends" : first;
  return { ...mutant, isKilled: code !== 0, by: failed === undefined ? output.trim() : `${failed.title}: ${why}` };
}

function run(program, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, program, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    let output = "";
    // What tests print is no part of their report.
    for (const stream of env.PAWL_MUTANT === undefined ? [child.stdout, child.stderr] : [child.stdout])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    child.stderr.resume();
    const tooLong = setTimeout(() => child.kill("SIGKILL"), longestMs);
    child.on("close", (code) => {
      clearTimeout(tooLong);
      resolve({ code, output });
    });
  });
}

function pageOf(all) {
  const rows = all.map(
    ({ name, file, check, tests, by }) =>
      `| ${name} | \`${file.slice("src/".length)}\` | ${tests === undefined ? check : `\`${tests}\``} | ${cell(by)} |`,
  );
  return `# Mutants

Defects that are injected into the source one at a time, and the check that finds each: \`npm run mutants\`. The list is
\`scripts/mutants-list.mjs\`; a test checks that it matches the source. \`npm run mutants -- --write\` generates this page.

*seeds* is the simulation (\`npm run simulate\`), *crashes* are the reference scenarios with a crash at every await (\`npm run crash\`),
and *conformance* is the suite that every store passes; \`test/stores/mutants.long.test.ts\` injects more defects into the memory store. A
file name is a test file.

| defect | in | found by | which says |
|---|---|---|---|
${rows.join("\n")}
`;
}

/** What a check says, without what differs from run to run. */
function cell(text) {
  const [line = ""] = text.split("\n");
  const cut = line.length > 140 ? `${line.slice(0, 140)}…` : line;
  return cut.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
