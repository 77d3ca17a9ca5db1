/**
 * How soon a person sees the prompt of `pawl`, and how soon a message can be sent, beside Node's own start. Each round
 * starts all three one after the other on a pseudo-terminal; the figures are medians over the rounds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";

const program = resolve("dist/cli/main.js");

export async function run({ quick, json }) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
  const rounds = quick ? 5 : 25;
  const times = { node: [], prompt: [], ready: [] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      times.node.push(await timeUntil(["-e", "process.stdout.write('ready')"], ["ready"], folder).then(([end]) => end));
      const [prompt, ready] = await timeUntil([program, "--model", "demo"], ["starting", "ready"], folder);
      times.prompt.push(prompt);
      times.ready.push(ready);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const [node, prompt, ready] = [times.node, times.prompt, times.ready].map(median);
  const figures = {
    rounds,
    node,
    promptOverNode: prompt - node,
    readyOverNode: ready - node,
    promptRatio: prompt / node,
  };
  if (json) console.log(JSON.stringify(figures));
  else {
    console.log(`Node's own start                 ${node.toFixed(0)} ms`);
    console.log(
      `the prompt is there after it     ${figures.promptOverNode.toFixed(0)} ms (${figures.promptRatio.toFixed(2)} times Node's start in all)`,
    );
    console.log(`a message can be sent after it   ${figures.readyOverNode.toFixed(0)} ms`);
  }
}

/** Milliseconds until each of these was printed, in this order. Ends the process then. */
function timeUntil(args, sought, folder) {
  const began = performance.now();
  const child = spawn(process.execPath, ["--no-warnings", ...args], {
    name: "xterm-256color",
    cols: 80,
    rows: 24,
    cwd: folder,
    env: { ...process.env, PAWL_HOME: join(folder, "home") },
  });
  return new Promise((done, fail) => {
    const times = [];
    let text = "";
    child.onData((data) => {
      text += data;
      while (times.length < sought.length && text.includes(sought[times.length])) times.push(performance.now() - began);
      if (times.length === sought.length) child.kill("SIGKILL");
    });
    child.onExit(() => {
      if (times.length === sought.length) done(times);
      else fail(new Error(`The program ended before it printed ${sought[times.length]}:\n${text}`));
    });
  });
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
