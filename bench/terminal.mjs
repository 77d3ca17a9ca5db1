/**
 * The conversation on a pseudo-terminal under load: how soon a key is on the screen, beside the same key at rest, and the most memory that
 * the process took. A local server plays the model.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { spawn } from "@lydell/node-pty";
import { createAgent } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { machine, table } from "./report.mjs";

const program = resolve("dist/cli/main.js");
/**
 * The goal for a key under load, in milliseconds. Where other work slows the machine down, a key may take as many times as long as one at
 * rest as the goal is of a key at rest on an idle machine (1.5 ms).
 */
const maxKeyMs = 50;
const maxRatio = 33;
/** Milliseconds between two keys. */
const betweenKeys = 40;

export async function run({ quick, json }) {
  const scale = quick ? 10 : 1;
  const loads = [
    ["at rest", {}],
    [
      `a command with ${count(100_000 / scale)} lines of output`,
      { answers: [shell(`seq 1 ${100_000 / scale}; sleep 2`)] },
    ],
    [`an answer of ${count(990_000 / scale)} bytes`, { answers: [text(990_000 / scale)] }],
    [
      `ten answers of ${count(500_000 / scale)} bytes`,
      { answers: Array.from({ length: 10 }, () => text(500_000 / scale)) },
    ],
    [
      `four agents that stream answers of ${count(400_000 / scale)} bytes at once`,
      {
        agents: fourAgents,
        answers: [callAgents(fourAgents), ...fourAgents.map(() => text(400_000 / scale))],
      },
    ],
    [`a session of ${count(10_000 / scale)} messages, at rest`, { messages: 10_000 / scale }],
  ];
  const rows = [];
  for (const [what, load] of loads) rows.push({ what, ...(await measure(load)) });
  if (json) return console.log(JSON.stringify(rows));
  const idle = rows[0].p99;
  const lines = rows.map(({ what, keys, p50, p99, megabytes }) => [
    what,
    String(keys),
    p50.toFixed(1),
    p99.toFixed(1),
    (p99 / idle).toFixed(1),
    String(megabytes),
  ]);
  const heads = ["", "keys", "a key, ms, median", "99 of 100", "× at rest", "most memory, MB"];
  console.log(`${machine()}.\n\n${table(heads, lines)}`);
  const slow = rows.filter(({ what, p99 }) => !what.endsWith("at rest") && p99 > maxKeyMs && p99 / idle > maxRatio);
  for (const { what, p99 } of slow)
    console.error(`Too slow: a key took ${p99.toFixed(1)} ms, ${(p99 / idle).toFixed(1)} × at rest: ${what}`);
  if (slow.length > 0) process.exitCode = 1;
}

function count(number) {
  return number.toLocaleString("en-US");
}

const shell = (command) => ({ calls: [{ name: "shell", arguments: JSON.stringify({ command }) }] });

const fourAgents = ["north", "east", "south", "west"];

const callAgents = (names) => ({
  calls: names.map((name) => ({ name: `agent_${name}`, arguments: JSON.stringify({ task: "Write about it." }) })),
});

/** Markdown with paragraphs, lists and code. */
function text(bytes) {
  const block =
    "A paragraph with **bold** words and `code`.\n\n- one thing\n- another\n\n```js\nconst answer = 42;\n```\n\n";
  return { text: block.repeat(Math.ceil(bytes / block.length)).slice(0, bytes) };
}

/** Plays the answers one after the other, then only short ones: in a thread of its own, whose work does not delay the reading of the screen. */
async function startModel(answers) {
  const thread = new Worker(new URL("./terminal-model.mjs", import.meta.url), { workerData: answers });
  let [served, onServed] = [0, () => {}];
  const url = await new Promise((done) => void thread.once("message", done));
  thread.on("message", () => {
    served += 1;
    onServed();
  });
  /** Resolves when this many answers have been given. */
  const given = (most) =>
    new Promise((done) => {
      onServed = () => served >= most && done();
      onServed();
    });
  return { url, given, close: () => thread.terminate() };
}

async function measure({ answers = [], messages = 0, agents = [] }) {
  const base = mkdtempSync(join(tmpdir(), "pawl-bench-"));
  const [root, home, configuration] = ["root", "home", "configuration"].map((name) => join(base, name));
  for (const folder of [root, home, join(configuration, "pawl/agents")]) mkdirSync(folder, { recursive: true });
  for (const name of agents)
    writeFileSync(join(configuration, `pawl/agents/${name}.md`), `---\ndescription: Writes.\n---\nYou write.\n`);
  const model = await startModel(answers);
  try {
    if (messages > 0) await fill(home, root, messages);
    return await talk({ root, home, configuration, model, answers, isResumed: messages > 0 });
  } finally {
    await model.close();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Runs of 50 calls of a tool, each with its result. */
async function fill(home, root, messages) {
  const store = await openSqliteStore({ path: join(home, "sessions.db") });
  const stepsOfRun = 50;
  const model = {
    id: "bench",
    contextWindow: 2_000_000,
    async *stream({ modelCallIndex }) {
      yield { kind: "text-delta", id: "t", text: "An answer of one line, as answers are." };
      const isLast = modelCallIndex === stepsOfRun;
      if (!isLast) yield { kind: "tool-call", id: `call_${modelCallIndex}`, name: "look", input: "{}" };
      yield { kind: "done", finishReason: { unified: isLast ? "stop" : "tool-calls" }, usage: {} };
    },
  };
  const look = {
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    readOnly: true,
    execute: () => "seen",
  };
  const agent = createAgent({ name: "pawl", model, store, root, tools: [look] });
  for (let at = 0; at < messages / (2 * stepsOfRun); at += 1) await agent.run(`Message ${at}`, { sessionId: "s" });
  await agent.shutdown();
  await store.close();
}

async function talk({ root, home, configuration, model, answers, isResumed }) {
  const args = [
    "--model",
    "openai-compatible/bench",
    "--yes",
    "--allow-shell",
    ...(isResumed ? ["--session", "s"] : []),
  ];
  const child = spawn(process.execPath, ["--no-warnings", program, ...args], {
    name: "xterm-256color",
    cols: 80,
    rows: 24,
    cwd: root,
    env: { ...process.env, PAWL_HOME: home, XDG_CONFIG_HOME: configuration, OPENAI_BASE_URL: model.url },
  });
  const listeners = new Set();
  child.onData((data) => {
    for (const listener of listeners) listener(data);
  });
  /** Resolves when the program prints this from now on. */
  const prints = (sought) =>
    new Promise((done) => {
      let recent = "";
      const listener = (data) => {
        recent = `${recent.slice(-2_000)}${data}`;
        if (!recent.includes(sought)) return;
        listeners.delete(listener);
        done();
      };
      listeners.add(listener);
    });
  await prints("ready");
  const times = [];

  /** Types a token that nothing else shows, and waits for it. */
  async function pressKeys() {
    const token = `q${times.length.toString(36)}Z`;
    const shown = prints(token);
    const began = performance.now();
    child.write(token);
    await shown;
    times.push(performance.now() - began);
    child.write("\x15");
    await new Promise((done) => setTimeout(done, betweenKeys));
  }

  /** Types until the run is over. */
  async function ask(given) {
    let isAtWork = true;
    child.write("go\r");
    const over = model.given(given).then(() => prints("ready"));
    void over.then(() => {
      isAtWork = false;
    });
    while (isAtWork) await pressKeys();
  }

  // All answers after a call belong to its run, which ends with one more. Other answers are runs of their own.
  if (answers.length === 0) for (let at = 0; at < 100; at += 1) await pressKeys();
  else if (answers[0].calls !== undefined) await ask(answers.length + 1);
  else for (let at = 1; at <= answers.length; at += 1) await ask(at);
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  child.kill("SIGKILL");
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const megabytes = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1_000);
  return { keys: sorted.length, p50: at(0.5), p99: at(0.99), megabytes };
}
