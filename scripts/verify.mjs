/**
 * Everything that a change must pass: `npm run verify`. Each step is an npm script of the same name and can be run alone.
 *
 *     npm run verify -- --only lint,types     these steps, and what they need
 *     npm run verify -- --without tests       all but these
 *     npm run verify -- --report FILE         also write { passed, failed: [names] } as JSON
 *
 * At most two steps run at a time. A step starts when what it needs has passed; it counts as failed where that failed.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs, styleText } from "node:util";

/** In the order in which they start where nothing holds them. `alone`: no other step runs at the same time. */
const steps = [
  { name: "build", alone: true },
  { name: "lint" },
  { name: "types", needs: ["build"] },
  { name: "boundaries" },
  { name: "dead-code" },
  { name: "sizes" },
  { name: "docs" },
  { name: "install-size", needs: ["build"] },
  { name: "package", needs: ["build"] },
  { name: "guide", needs: ["build"] },
  { name: "bundles", needs: ["build"] },
  { name: "api:check", needs: ["build"] },
  { name: "diagram:check", needs: ["build"] },
  { name: "examples", needs: ["build"] },
  { name: "tests", script: "test:built", needs: ["build"], alone: true },
];
const atOnce = 2;

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    without: { type: "string", default: "" },
    report: { type: "string" },
  },
});

const outcomes = await runAll(chosen(options.only?.split(","), options.without.split(",")));
const failed = [...outcomes].filter(([, passed]) => !passed).map(([name]) => name);
const passed = outcomes.size - failed.length;
if (options.report !== undefined) writeFileSync(options.report, JSON.stringify({ passed, failed }));
if (failed.length > 0) console.log(`\nFailed: ${failed.join(", ")}`);
console.log(`${passed} of ${outcomes.size} steps passed.`);
process.exitCode = failed.length > 0 ? 1 : 0;

function chosen(only, without) {
  const names = steps.map((step) => step.name);
  for (const name of [...(only ?? []), ...without]) {
    if (name !== "" && !names.includes(name)) {
      console.error(`There is no step "${name}". The steps are: ${names.join(", ")}.`);
      process.exit(2);
    }
  }
  const wanted = new Set(only ?? names);
  for (const step of steps) if (wanted.has(step.name)) for (const need of step.needs ?? []) wanted.add(need);
  return steps.filter((step) => wanted.has(step.name) && !without.includes(step.name));
}

/** Runs the steps and resolves to what became of each, by name. */
async function runAll(all) {
  const outcomes = new Map();
  const running = new Map();
  let waiting = [...all];
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.find((step) => canStart(step, running, outcomes));
    if (next !== undefined) {
      waiting = waiting.filter((step) => step !== next);
      running.set(
        next,
        runStep(next, outcomes).then((passed) => ({ step: next, passed })),
      );
      continue;
    }
    const { step, passed } = await Promise.race(running.values());
    running.delete(step);
    outcomes.set(step.name, passed);
  }
  return outcomes;

  function canStart(step, running, outcomes) {
    const isReady = (step.needs ?? []).every((need) => outcomes.has(need) || !all.some(({ name }) => name === need));
    if (step.alone) return isReady && running.size === 0;
    return isReady && running.size < atOnce && ![...running.keys()].some((other) => other.alone);
  }
}

/** Runs one step, prints its line, and its output where it failed. */
async function runStep(step, outcomes) {
  const unmet = (step.needs ?? []).find((need) => outcomes.get(need) === false);
  if (unmet !== undefined) {
    console.log(`${styleText("red", "failed")}  ${step.name.padEnd(14)} not run: ${unmet} failed`);
    return false;
  }
  const startedAt = performance.now();
  const { code, output } = await runScript(step.script ?? step.name);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
  const passed = code === 0;
  console.log(
    `${passed ? styleText("green", "passed") : styleText("red", "failed")}  ${step.name.padEnd(14)}${seconds} s`,
  );
  if (!passed) console.log(`\n${output.trimEnd()}\n`);
  return passed;
}

function runScript(script) {
  return new Promise((resolve) => {
    const child = spawn("npm", ["run", "--silent", script], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
    });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.on("error", (error) => resolve({ code: 1, output: `npm could not be started: ${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}
