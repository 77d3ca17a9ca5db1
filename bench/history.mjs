/**
 * Long histories with a context window of 8,000 tokens, on SQLite. First a run of many steps: the cost of a step, the
 * memory of the process and the size of the file, from the first steps to the last. Then what a caller does beside
 * long histories: bench/reconnects.mjs. Flat lines are the goal; docs/performance.md has them as a chart.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createAgent } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { chart } from "./chart.mjs";
import { modelOf, read, summarizer } from "./long-talk.mjs";
import { reconnects, runStarts } from "./reconnects.mjs";
import { machine, median, table } from "./report.mjs";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

async function measure(steps, parts) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
  const path = join(folder, "sessions.db");
  const store = await openSqliteStore({ path, synchronous: "normal" });
  const every = Math.ceil(steps / parts);
  const rows = [];
  let compactions = 0;
  let at = 0;
  let since = performance.now();
  let times = [];
  let bytes = statSync(path).size;
  const agent = createAgent({
    model: modelOf(steps),
    tools: [read],
    store,
    limits: { maxSteps: steps + 10, maxCompactions: steps },
    compaction: { model: summarizer },
    onCompacted() {
      compactions += 1;
    },
    hooks: [
      {
        name: "clock",
        beforeStep({ modelCallIndex }) {
          const now = performance.now();
          if (modelCallIndex > 1) times.push(now - since);
          if (modelCallIndex > 1 && (modelCallIndex - 1) % every === 0) {
            collectGarbage();
            const size = statSync(path).size;
            const heap = process.memoryUsage().heapUsed;
            rows.push({
              step: modelCallIndex - 1,
              ms: median(times),
              heap,
              bytes: (size - bytes) / (modelCallIndex - 1 - at),
            });
            at = modelCallIndex - 1;
            bytes = size;
            times = [];
          }
          since = performance.now();
        },
      },
    ],
  });
  try {
    const { status, reason } = await agent.run("Look at every file.", { sessionId: "long" });
    if (status !== "completed") throw new Error(`the run is ${status} (${reason})`);
    const load = performance.now();
    const again = createAgent({ model: modelOf(0), tools: [read], store, compaction: { model: summarizer } });
    await again.run("And now?", { sessionId: "long" });
    return { rows, compactions, loadMs: performance.now() - load };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const page = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const picture = fileURLToPath(new URL("../docs/performance-history.svg", import.meta.url));
const heading = "## Ten thousand steps in a small window";

/** Writes table and chart into the page and replaces those of the last run. */
function write(text, drawing) {
  writeFileSync(picture, drawing);
  const before = readFileSync(page, "utf8");
  const start = before.indexOf(heading);
  const next = start === -1 ? -1 : before.indexOf("\n## ", start + 1);
  const kept = start === -1 ? `${before.trimEnd()}\n\n` : before.slice(0, start);
  writeFileSync(page, `${kept}${heading}\n\n${text}\n${next === -1 ? "" : before.slice(next)}`);
}

function sideBySide(rows) {
  const heads = ["work", "history", "repetitions", "median, ms", "spread, ms", "× smallest"];
  const cells = rows.map(({ work, history, times, smallest }) => [
    work,
    history,
    String(times.length),
    median(times).toFixed(2),
    `${percentile(times, 0.1).toFixed(2)} – ${percentile(times, 0.9).toFixed(2)}`,
    (median(times) / median(smallest)).toFixed(2),
  ]);
  return table(heads, cells);
}

function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))];
}

export async function run({ quick, json }) {
  const steps = quick ? 1_000 : 10_000;
  const { rows, compactions, loadMs } = await measure(steps, 10);
  const starts = await runStarts(quick ? [10, 100, 1_000] : [10, 1_000, 10_000]);
  const places = await reconnects(quick ? [10, 100, 1_000] : [10, 100, 10_000]);
  if (json)
    return console.log(JSON.stringify({ machine: machine(), rows, compactions, loadMs, starts, places }, null, 2));
  const heads = ["steps", "ms a step", "heap, MB", "file, bytes a step"];
  const cells = rows.map(({ step, ms, heap, bytes }) => [
    step.toLocaleString("en"),
    ms.toFixed(2),
    (heap / 1_048_576).toFixed(1),
    Math.round(bytes).toLocaleString("en"),
  ]);
  const text = `\`\`\`
npm run build && npm run bench -- history
\`\`\`

${machine()}; SQLite, synchronous NORMAL; a model with a window of 8,000 tokens,
one model call per step; ${steps.toLocaleString("en")} steps with ${compactions.toLocaleString("en")} compactions. Each row is
a tenth of the run: the median of its steps, the heap after a collection, and the growth of the file.

![Cost of a step, heap and growth of the file over the run](performance-history.svg)

${table(heads, cells)}

- **A step costs the same at the end of the run as at its start**, and needs the same memory and space in the file.
- Resuming the session and answering one more request took ${Math.round(loadMs)} ms: the log is read from the last compaction on.

### With a long history

${sideBySide([...starts, ...places])}

The spread is the range from the 10th to the 90th percentile of the repetitions. *× smallest* compares the medians with
the shortest history of the same work. Ten steps do not fill the window, so they cost a little less.

- *The start of a run* is \`agent.run\` until the model is called, in a session with this many runs of one step and a
  window of 2,000 tokens. Compactions keep what the model sees at the same size.
- *The first event after a reconnect* is \`session.events({ after })\` two entries before the end of the log, until the
  first event: by the agent object that ran the steps, or by a new agent object on a new connection to the file.
- *A page in the middle* is the first 100 events after an entry in the middle, with \`follow: false\`. The entries are
  next to each other, because the distance to the last compaction counts.
`;
  const lines = [
    { name: "ms a step", values: rows.map(({ ms }) => ms) },
    { name: "heap, MB", values: rows.map(({ heap }) => heap / 1_048_576) },
    { name: "file, KB a step", values: rows.map(({ bytes }) => bytes / 1_024) },
  ];
  console.log(text);
  if (!quick)
    write(
      text,
      chart(
        "Steps of one run, each line from zero to a quarter above its highest",
        rows.map(({ step }) => step),
        lines,
      ),
    );
}
