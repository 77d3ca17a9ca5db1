/**
 * How soon a person sees the prompt of `pawl`, and how soon a message can be sent, beside Node's own start. Each round
 * starts all three one after the other on a pseudo-terminal; the figures are medians over the rounds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";
import { machine, median, table } from "./report.mjs";

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
  if (json) {
    const over = { promptOverNode: prompt - node, readyOverNode: ready - node, promptRatio: prompt / node };
    console.log(JSON.stringify({ rounds, node, ...over }));
    return;
  }
  const rows = [
    ["Node's own start", times.node],
    ["the prompt is there", times.prompt],
    ["a message can be sent", times.ready],
  ].map(([what, all]) => [
    what,
    median(all).toFixed(0),
    all === times.node ? "" : (median(all) - node).toFixed(0),
    all === times.node ? "" : (Math.min(...all) - Math.min(...times.node)).toFixed(0),
    (median(all) / node).toFixed(2),
  ]);
  const heads = ["", "ms, median", "after Node's start, median", "least of both", "× Node's start"];
  console.log(`${machine()}, ${rounds} rounds.\n\n${table(heads, rows)}`);
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
