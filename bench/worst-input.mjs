/**
 * Worst inputs of the built-in tools that ask nobody, and of those that do when they are allowed: a call that would go
 * on for long, and an abort beside it, as Ctrl-C makes one. The run has to end within a second.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAgent, createMemoryStore } from "../dist/index.js";
import { createScriptedModel } from "../dist/testing/index.js";
import { createFileTools, createShellTool } from "../dist/tools/index.js";
import { inFolder } from "./folder.mjs";
import { machine, table } from "./report.mjs";

const million = 1024 * 1024;
const abortAfterMs = 100;

/** A tree that takes long to search: files that are as large as files may be, each of one letter. */
function fill(root, files) {
  mkdirSync(join(root, "many"));
  for (let file = 0; file < files; file += 1) writeFileSync(join(root, `one-${file}.txt`), "a".repeat(16 * million));
  for (let file = 0; file < files * 100; file += 1) writeFileSync(join(root, "many", `${"a".repeat(200)}${file}`), "a");
}

const calls = [
  ["list_files", "braces", { pattern: "{a,a}".repeat(100), all: true }],
  ["list_files", "240,000 braces", { pattern: "{".repeat(240_000) }],
  ["list_files", "stars", { pattern: "*a".repeat(250) }],
  ["read_file", '"a/" × 8,000', { path: "a/".repeat(8_000) }],
  ["read_file", '"a/" × 2,000', { path: "a/".repeat(2_000) }],
  ["read_file", "a large file", { path: "one-0.txt", startLine: 2 }],
  ["search_files", "a whole word in lines of one letter", { text: "a".repeat(1_000), wholeWord: true }],
  ["search_files", "a text of a million letters", { text: "a".repeat(million) }],
  ["search_files", "stars over many files", { text: "a", pattern: "*a".repeat(250) }],
  ["write_file", "a million line ends", { path: "new.txt", content: "\n".repeat(500_000) }],
  ["edit_file", "a letter in 16 MiB", { path: "one-0.txt", oldText: "a", newText: "b", replaceAll: true }],
  ["edit_file", "a text that is not there", { path: "one-0.txt", oldText: `${"a".repeat(500_000)}b`, newText: "b" }],
  ["shell", "output without end", { command: "yes" }],
  ["shell", "processes that hide", { command: "for n in 1 2 3 4 5; do setsid sleep 60 & done; sleep 60" }],
  [
    "read_output",
    "the last line of 16 MiB of line ends",
    { output: 6, fromLine: 16_000_000 },
    "\n".repeat(16 * million),
  ],
  ["search_output", "many letters in 16 MiB", { output: 6, text: `${"a".repeat(999)}b` }, "a".repeat(16 * million)],
];

async function measure(root, [name, input, output]) {
  const give = { name: "give", description: "Gives.", input: { type: "object" }, execute: () => output ?? "" };
  const tools = [...createFileTools({ root }), createShellTool({ root, sandbox: "off", killGraceMs: 200 }), give];
  const model = createScriptedModel([
    ...(output === undefined ? [] : [{ calls: [{ name: "give" }] }]),
    { calls: [{ name, input }] },
    { text: "Done." },
  ]);
  const agent = createAgent({
    model,
    tools: tools.map((tool) => ({ ...tool, needsApproval: false })),
    store: createMemoryStore(),
  });
  const session = agent.session("s");
  let [abortedAt, longest, before] = [0, 0, performance.now()];
  const ticker = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  let timer;
  const stream = agent.runStream("Go", { sessionId: "s" });
  for await (const event of stream) {
    if (event.type !== "tool_call" || event.name !== name) continue;
    [before, longest] = [performance.now(), 0];
    timer = setTimeout(() => {
      abortedAt = performance.now();
      void session.abort();
    }, abortAfterMs);
  }
  const { status } = await stream.result;
  const endedAt = performance.now();
  clearTimeout(timer);
  clearInterval(ticker);
  return { status, ms: abortedAt === 0 ? 0 : endedAt - abortedAt, longest };
}

export async function run({ quick }) {
  await inFolder(async (root) => {
    fill(root, quick ? 4 : 20);
    const rows = [];
    for (const [name, what, ...rest] of calls) {
      const { status, ms, longest } = await measure(root, [name, ...rest]);
      const after = ms === 0 ? "ended before the abort" : `${ms.toFixed(0)} ms`;
      rows.push([name, what, status, after, longest.toFixed(0)]);
    }
    console.log(`${machine()}; an abort ${abortAfterMs} ms after the call began\n`);
    console.log(table(["tool", "input", "the run", "from the abort to its end", "longest block, ms"], rows));
  });
}
