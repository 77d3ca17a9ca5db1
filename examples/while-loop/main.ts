/**
 * Two loops do the same work, and each is killed at eight points and started again. The plain loop asks a person again, sends
 * money twice, or loses the conversation; the one with Pawl does not.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Counts, type Kill, kills } from "./kills.js";
import { reach } from "./shop.js";

type Loop = "plain" | "durable";

const killAtCommit = import.meta.resolve("pawl/testing/kill-at-commit");
const program = fileURLToPath(import.meta.url);
const [loop] = process.argv.slice(2);
if (loop === "plain" || loop === "durable") await work(loop);
else for (const kill of kills) await checkKill(kill);

/** One life of a process. */
async function work(loop: Loop): Promise<void> {
  const request = "Refund the orders 1041 and 1042.";
  const text = await (loop === "plain"
    ? (await import("./plain.js")).answer(request)
    : (await import("./durable.js")).answerWithPawl(request));
  reach("end");
  console.log(text);
}

async function checkKill({ point, plain, durable }: Kill): Promise<void> {
  const measured = await Promise.all([countAfter("plain", point), countAfter("durable", point)]);
  console.log(point.padEnd(8), "plain:", measured[0], "with Pawl:", measured[1]);
  assert.deepEqual(measured, [plain, durable]);
}

/** Kills a process at a point, and starts another one, which is not killed. */
async function countAfter(loop: Loop, point: Kill["point"]): Promise<Counts | null> {
  const folder = join(process.cwd(), `${loop}-${point}`);
  mkdirSync(folder);
  // For Pawl, the point while it saves is inside its transaction for the first refund's result.
  const first =
    loop === "durable" && point === "save"
      ? await start(loop, folder, { PAWL_KILL_AT: "before 11" }, ["--import", killAtCommit])
      : await start(loop, folder, { KILL_AT: point });
  assert.equal(first.signal, "SIGKILL");
  const second = await start(loop, folder, {});
  if (second.code !== 0) {
    console.log(`The ${loop} loop cannot go on:\n${second.output}`);
    return null;
  }
  assert.match(second.output, /Both orders are refunded\./);
  const happened = readFileSync(join(folder, "happened.txt"), "utf8").split("\n");
  const count = (what: string) => happened.filter((line) => line.startsWith(what)).length;
  return { modelCalls: count("model call"), questions: count("question"), refunds: count("refund") };
}

type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly output: string };

function start(loop: Loop, cwd: string, env: NodeJS.ProcessEnv, flags: readonly string[] = []): Promise<Ended> {
  const child = spawn(process.execPath, [...flags, program, loop], { cwd, env: { ...process.env, ...env } });
  let output = "";
  const add = (data: Buffer) => {
    output += data;
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  return new Promise((settle) => {
    child.on("close", (code, signal) => settle({ code, signal, output }));
  });
}
