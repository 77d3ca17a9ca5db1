/**
 * A day's work in a terminal, by script: a feature in over 60 steps, with an agent in front and one in the background, a plan, a hook
 * that formats each edit, a command that leaves the sandbox, a steer, a `kill -9`, an answer from another process, and an undo. The
 * model is a local server that bills as Anthropic documents its prompt cache. Fails if anything is lost, or done twice.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { detectSandbox } from "../dist/tools/index.js";
import { findProblems } from "./days-work/checks.mjs";
import { agentFiles, createModel, request, said, secondRequest, steer } from "./days-work/model.mjs";
import { openPawl, program } from "./days-work/person.mjs";
import { billed, startBillingServer } from "./economy/billing-server.mjs";
import { machine, table } from "./report.mjs";

const dollarsOfInput = 2 / 1_000_000;
const dollarsOfOutput = 10 / 1_000_000;

const files = {
  "src/report.mjs": "// TODO\nconsole.log('report');\n",
  "release.sh": "echo released >> journal\necho released >> released\n",
  ".pawl/hooks.json": JSON.stringify({
    hooks: {
      PostToolUse: [{ matcher: "Edit|Write", hooks: [{ type: "command", command: "node .pawl/hooks/format.mjs" }] }],
    },
  }),
  ".pawl/hooks/format.mjs": [
    'import { appendFileSync, readFileSync, writeFileSync } from "node:fs";',
    'const { tool_input: { file_path: path } } = JSON.parse(readFileSync(0, "utf8"));',
    'const text = readFileSync(path, "utf8");',
    'writeFileSync(path, text.replace(/ {2,}/g, " ").replace(/ +;/g, ";").replace(/ +$/gm, ""));',
    'appendFileSync("../formatted", path + "\\n");',
    'console.log(JSON.stringify({ hookSpecificOutput: { additionalContext: "The file was formatted." } }));',
    "",
  ].join("\n"),
  ...agentFiles,
};
const settings = { shell: { on: true, ask: "outside" }, permissions: { ask: ["shell(sh release.sh *)"] } };

export async function run({ json }) {
  if (detectSandbox() === "none") throw new Error("This needs a sandbox: one command of the day leaves it.");
  const server = await startBillingServer({ reply: createModel() });
  const world = createWorld(server.baseURL);
  try {
    const day = await spendDay(world);
    const problems = findProblems({ ...world, ledger: server.ledger, ...day });
    const figures = { ...sumBills(server.ledger), ...day.times, questions: day.questions };
    if (json) console.log(JSON.stringify({ ...figures, problems }));
    else console.log(`${machine()}.\n\n${formatReport(figures)}`);
    for (const problem of problems) console.error(`Wrong: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await server.close();
    rmSync(world.base, { recursive: true, force: true });
  }
}

function createWorld(baseURL) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-day-")));
  const root = join(base, "root");
  const own = { ".config/pawl/pawl.config.json": JSON.stringify(settings) };
  const all = { ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`root/${path}`, text])), ...own };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  const { PATH } = process.env;
  const secret = { ANTHROPIC_BASE_URL: baseURL, ANTHROPIC_API_KEY: "sk-test" };
  const env = { PATH, HOME: base, PAWL_HOME: join(base, "home"), ...secret };
  /** Runs `pawl` in another process, without a terminal. */
  const pawl = (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--no-warnings", program, ...args], {
      ...{ cwd: root, env, encoding: "utf8", maxBuffer: 64 << 20 },
    });
    if (status !== 0) throw new Error(`pawl ${args.join(" ")} ended with ${status}:\n${stderr}`);
    return stdout;
  };
  const read = (path) => (existsSync(join(base, path)) ? readFileSync(join(base, path), "utf8") : "");
  const list = (path) => readdirSync(join(base, path)).sort();
  return { base, root, env, pawl, read, list };
}

/** The questions that a person answers, in order. */
const questions = ["trust of the folder", "the plan", "leaving the sandbox", "the release, from another process"];

async function spendDay({ root, env, pawl, read }) {
  const model = ["--model", "anthropic/claude-sonnet-5"];
  const person = openPawl(model, { cwd: root, env });
  const firstScreen = await person.sees(/trust ›/);
  person.type("trust all\r");
  await person.sees(/ready/);
  person.type("\x1b[Z");
  await person.sees(/edits allowed/);
  person.type("\x1b[Z");
  await person.sees(/plan mode/);
  const beforeRequest = performance.now();
  person.type(`${request}\r`);
  await person.sees(new RegExp(said[0]));
  const firstToken = performance.now() - beforeRequest;
  await person.answers(/2 start, and edit files without asking/, "2");
  await person.answers(/OUTSIDE of the sandbox[\s\S]*y yes/, "y");
  await person.sees(/▸ shell[^\n]*measured/);
  person.type(`${steer}\r`);
  await person.sees(new RegExp(`you, before the next model call: ${steer}`));
  await person.kill("SIGKILL");

  const again = openPawl([...model, "--continue"], { cwd: root, env });
  const screenAfterKill = await again.sees(/Carried on after an interruption/);
  await again.sees(/\? shell[\s\S]*sh release\.sh[\s\S]*y yes/);
  const waiting = JSON.parse(pawl("approvals", "--json").trim());
  pawl("approve", waiting.id);
  await again.sees(new RegExp(`${said[6].replace(".", "\\.")}[\\s\\S]*ready`));
  again.type(`${secondRequest}\r`);
  await again.sees(new RegExp(`${said[7].replace(".", "\\.")}[\\s\\S]*ready`));
  const renamed = read("root/src/report.mjs");
  again.type("/undo\r");
  await again.answers(/undo ›[\s\S]*1 file/, "y");
  await again.sees(/Took back 1 file/);
  again.type("/quit\r");
  await again.ended;
  const times = { firstScreen, screenAfterKill, firstToken };
  return { times, questions, renamed, history: again.history() };
}

function sumBills(ledger) {
  const bills = ledger.filter(({ refused }) => refused === undefined);
  const sum = (key) => bills.reduce((total, bill) => total + bill[key], 0);
  const output = bills.length * 50;
  const cost = bills.reduce((total, bill) => total + billed(bill), 0) * dollarsOfInput + output * dollarsOfOutput;
  return {
    ...{
      requests: bills.length,
      fresh: sum("full"),
      written: sum("written5m") + sum("written1h"),
      cached: sum("read"),
    },
    ...{ output, dollars: cost, uncached: sum("total") * dollarsOfInput + output * dollarsOfOutput },
  };
}

function formatReport(figures) {
  const { requests, fresh, written, cached, output, dollars, uncached, firstScreen, screenAfterKill, firstToken } =
    figures;
  const whole = (value) => value.toLocaleString("en-US");
  const ms = (value) => `${Math.round(value)} ms`;
  return table(
    ["a day's work", ""],
    [
      ["model calls", String(requests)],
      ["tokens read from the cache", whole(cached)],
      ["tokens written to the cache", whole(written)],
      ["tokens of input at the full price", whole(fresh)],
      ["tokens of output", whole(output)],
      ["cost", `$${dollars.toFixed(3)}`],
      ["cost without a cache", `$${uncached.toFixed(3)}`],
      [`questions (${figures.questions.join(", ")})`, String(figures.questions.length)],
      ["first screen", ms(firstScreen)],
      ["first screen after the kill", ms(screenAfterKill)],
      ["first words of the model, from Enter", ms(firstToken)],
    ],
  );
}
