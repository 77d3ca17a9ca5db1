/**
 * Writes docs/guide/machine.md: the machine as a diagram and as tables, found by walking it.
 *
 *     node scripts/diagram.mjs             writes the page
 *     node scripts/diagram.mjs --check     fails if the page is not up to date
 */
import { readFileSync, writeFileSync } from "node:fs";
import { transitionTable } from "../dist/core/index.js";
import { walk } from "./machine-walk.mjs";

const path = "docs/guide/machine.md";
const page = pageOf(walk());

if (!process.argv.includes("--check")) writeFileSync(path, page);
else if (readIfThere(path) !== page) {
  console.error(
    `${path} is not up to date. Check the changes of the machine, then write the page with: npm run diagram`,
  );
  process.exitCode = 1;
}

function readIfThere(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

function pageOf(found) {
  return `# The machine

<!-- Written by scripts/diagram.mjs, which walks the machine; do not edit. -->

What a session can do in each state. You need this to write a store, a client or a test.

A session is in one of eight states. Events lead from one state to another; an event that does not apply changes nothing and says
why. This page is generated from the code: \`transitionTable\`, \`transition\` and \`effects\` of \`pawl/core\`. [Concepts](concepts.md)
explains the terms.

## States

${diagramOf(found)}

The diagram shows only events that lead from one state to another. Each step enters through \`preparing\`. \`migrated\`, which replaces
a state of an older format with one of a newer format, is left out.

## What is in flight

${effectsTable(found)}

A run that was aborted, or that a limit or a failure ends, stays in its state until its running work has settled. Nothing more is
started, and only \`sleep (grace)\` and \`cancel_child\` are in flight.

## Every state and every event

${pairsTable(found)}

A cell lists the states that the event leads to. *late* means that the event is too late or a duplicate, and is harmless (\`stale\`).
*misuse* means that the API was used incorrectly; the session handle throws. An event that can apply is also late if it names another
run, step, attempt or call than the current one. Events marked with ● are also produced by the machine itself, in the same commit as
their cause.

**Next:** [concepts](concepts.md) explains the terms; [the log format](../log-format.md) lists the fields of each event.
`;
}

function diagramOf({ targets }) {
  const labels = new Map();
  for (const [pair, statuses] of targets) {
    const [from, type] = pair.split(" ");
    if (type === "migrated") continue;
    for (const to of statuses) {
      if (to === from) continue;
      const edge = `${from} --> ${to}`;
      labels.set(edge, [...(labels.get(edge) ?? []), type]);
    }
  }
  const order = Object.keys(transitionTable);
  const place = (edge) => edge.split(" --> ").map((status) => order.indexOf(status));
  const edges = [...labels].sort(([a], [b]) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1]);
  const lines = edges.map(([edge, types]) => `  ${edge}: ${types.sort().join("<br/>")}`);
  return ["```mermaid", "stateDiagram-v2", "  [*] --> idle", ...lines, "```"].join("\n");
}

function effectsTable({ effects }) {
  const rows = Object.keys(transitionTable).map((status) => {
    const names = [...(effects.get(status) ?? [])].sort();
    return `| \`${status}\` | ${names.map((name) => `\`${name}\``).join(", ") || "nothing"} |`;
  });
  return ["| state | effects |", "|---|---|", ...rows].join("\n");
}

function pairsTable({ targets, follows }) {
  const statuses = Object.keys(transitionTable);
  const types = Object.keys(transitionTable.idle).sort();
  const rows = types.map((type) => {
    const made = statuses.some((status) => follows.has(`${status} ${type}`)) ? " ●" : "";
    const cells = statuses.map((status) => cellOf(transitionTable[status][type], targets.get(`${status} ${type}`)));
    return `| \`${type}\`${made} | ${cells.join(" | ")} |`;
  });
  return [
    `| | ${statuses.map((status) => `\`${status}\``).join(" | ")} |`,
    `|---|${statuses.map(() => "---").join("|")}|`,
    ...rows,
  ].join("\n");
}

function cellOf(pair, statuses) {
  if (pair === "stale") return "*late*";
  if (pair === "misuse") return "*misuse*";
  return [...statuses]
    .sort()
    .map((status) => `\`${status}\``)
    .join(", ");
}
