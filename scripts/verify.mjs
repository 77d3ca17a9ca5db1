/**
 * Everything that a change must pass: `npm run verify`. Each step is an npm script of the same name (`script`, if that differs) and can be
 * run alone.
 *
 *     npm run verify -- --only lint,types     these steps, and what they need
 *     npm run verify -- --without tests       all but these
 *     npm run verify -- --report FILE         also write { passed, failed: [names], seconds: { [name]: number } } as JSON
 *
 * At most three steps run at a time: several wait for servers, browsers or the clock. A step starts when the steps it needs have passed; it fails when one of them failed.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs, styleText } from "node:util";

/** In the order in which they start when nothing holds them back. `alone`: no other step runs at the same time. */
const steps = [
  { name: "build", alone: true },
  // Steps that run side by side may not install the same packages.
  { name: "check-tools", alone: true },
  { name: "lint" },
  { name: "types", needs: ["build"] },
  { name: "boundaries", needs: ["check-tools"] },
  { name: "rooms" },
  { name: "dead-code", needs: ["check-tools"] },
  { name: "sizes" },
  { name: "docs" },
  { name: "prose" },
  { name: "site" },
  { name: "install-size", needs: ["build"] },
  { name: "package", needs: ["build", "check-tools"] },
  { name: "guide", needs: ["build"] },
  { name: "moving", needs: ["build"] },
  { name: "bundles", needs: ["build"] },
  { name: "api:check", needs: ["build", "check-tools"] },
  { name: "reference:check", needs: ["build"] },
  { name: "diagram:check", needs: ["build"] },
  { name: "examples", needs: ["build", "check-tools"] },
  { name: "chat", needs: ["build", "check-tools"] },
  { name: "runtimes", needs: ["build", "check-tools"] },
  { name: "chaos", options: ["--seconds", "25"], needs: ["build"] },
  { name: "chaos:postgres", script: "chaos", options: ["--store", "postgres", "--seconds", "25"], needs: ["build"] },
  { name: "resume", needs: ["build"] },
  { name: "conformance", needs: ["build"] },
  { name: "tests", script: "test:built", needs: ["build"], alone: true },
  { name: "test:long", needs: ["build", "check-tools"], alone: true },
  { name: "requirements", needs: ["tests", "test:long"] },
];
const atOnce = 3;

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    without: { type: "string", default: "" },
    report: { type: "string" },
  },
});

const outcomes = await runAll(chosen(options.only?.split(","), options.without.split(",")));
const failed = [...outcomes].filter(([, { passed }]) => !passed).map(([name]) => name);
const passed = outcomes.size - failed.length;
if (options.report !== undefined) {
  const seconds = Object.fromEntries([...outcomes].map(([name, outcome]) => [name, outcome.seconds]));
  writeFileSync(options.report, JSON.stringify({ passed, failed, seconds }));
}
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

/** Runs the steps. Resolves to the outcome of each, by name: whether it passed, and how many seconds it took. */
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
        runStep(next, outcomes).then((outcome) => ({ step: next, outcome })),
      );
      continue;
    }
    const { step, outcome } = await Promise.race(running.values());
    running.delete(step);
    outcomes.set(step.name, outcome);
  }
  return outcomes;

  function canStart(step, running, outcomes) {
    const isReady = (step.needs ?? []).every((need) => outcomes.has(need) || !all.some(({ name }) => name === need));
    if (step.alone) return isReady && running.size === 0;
    return isReady && running.size < atOnce && ![...running.keys()].some((other) => other.alone);
  }
}

/** Runs one step, prints its line, and its output if it failed. */
async function runStep(step, outcomes) {
  const unmet = (step.needs ?? []).find((need) => outcomes.get(need)?.passed === false);
  if (unmet !== undefined) {
    console.log(`${styleText("red", "failed")}  ${step.name.padEnd(14)} not run: ${unmet} failed`);
    return { passed: false, seconds: 0 };
  }
  const startedAt = performance.now();
  const { code, output } = await runScript(step.script ?? step.name, step.options ?? []);
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const passed = code === 0;
  console.log(
    `${passed ? styleText("green", "passed") : styleText("red", "failed")}  ${step.name.padEnd(14)}${seconds.toFixed(1).padStart(6)} s`,
  );
  if (!passed) console.log(`\n${output.trimEnd()}\n`);
  return { passed, seconds };
}

function runScript(script, options) {
  return new Promise((resolve) => {
    const child = spawn("npm", ["run", "--silent", script, "--", ...options], {
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
