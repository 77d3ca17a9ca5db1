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

Read this page when you need to know exactly what a session may do in which state: for a store, a client or a test of your own.

A session is in one of eight states. Events lead from one to another; an event that does not apply changes nothing and says why. This page is
made from the code: \`transitionTable\`, \`transition\` and \`effects\` of \`pawl/core\`. What the words mean is in [concepts](concepts.md).

## States

${diagramOf(found)}

Only what leads from one state to another is drawn. Each step enters through \`preparing\`. \`migrated\`, which puts a state of a newer format in the place of an older one,
is left out.

## What is in flight

${effectsTable(found)}

A run that was aborted, or that a limit or a failure ends, stays in its state until what runs has settled: nothing is started any more, and only
\`sleep (grace)\` and \`cancel_child\` are in flight.

## Every state and every event

${pairsTable(found)}

A cell names the states that the event leads to. *late*: the event comes late or twice, and is harmless (\`stale\`). *misuse*: the API was used wrongly;
the session handle throws. An event that can apply is late, too, if it names another run, step, attempt or call than the present one.
Events marked with ● are also made by the machine itself, in the commit of what they follow from.

**Next:** [concepts](concepts.md) explains the words; [the log format](../log-format.md) has the fields of each event.
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
