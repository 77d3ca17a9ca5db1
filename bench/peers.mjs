/**
 * Pawl beside other agent loops, and beside the least code that does the same work: docs/performance.md says what
 * it measures.
 *
 *     npm run bench -- peers                          everything, on this Node
 * npm run bench -- peers --node 20,24 on both; Node 24 comes from npm if this Node is older
 *     npm run bench -- peers --only W1,W2 --peers pawl,pi
 *     npm run bench -- peers --quick                  small sizes: that it works, not how fast
 *
 * Prints the tables; writes `results.json`, `results.md` and the charts into `--out` (default: temp/bench-peers).
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { node24 } from "../scripts/install-node.mjs";
import { chartsOf } from "./peers/charts.mjs";
import { contenders } from "./peers/contenders.mjs";
import { installPeers, versions } from "./peers/install.mjs";
import { measureAll, sizes } from "./peers/measure.mjs";
import { pageOf } from "./peers/tables.mjs";
import { processors } from "./report.mjs";

const workloads = ["W1", "W2", "W3", "W4", "W5", "W6"];

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({
    args: rest,
    options: {
      only: { type: "string" },
      peers: { type: "string" },
      node: { type: "string" },
      out: { type: "string", default: "temp/bench-peers" },
    },
  });
  const only = listOf(values.only, workloads, "workload");
  const names = contenders.map(({ name }) => name);
  const peers = listOf(values.peers, names, "peer");
  const nodes = (values.node ?? ownMajor()).split(",").map(executableOf);
  installPeers();

  const runs = [];
  for (const { node, version } of nodes) {
    const tell = (line) => console.error(`Node ${version}  ${line}`);
    const size = quick ? sizes.quick : sizes.whole;
    const results = await measureAll({ node, size, only, peers, tell });
    runs.push({ node: version, machine: processors(), quick, versions: versions(), results });
  }
  const page = runs.map(pageOf).join("\n");
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "results.json"), `${JSON.stringify(runs, null, 2)}\n`);
  writeFileSync(join(out, "results.md"), page);
  for (const { file, svg } of runs.flatMap(chartsOf)) writeFileSync(join(out, file), svg);
  console.log(json ? JSON.stringify(runs, null, 2) : page);
}

function listOf(text, known, what) {
  if (text === undefined) return undefined;
  const names = text.split(",");
  for (const name of names)
    if (!known.includes(name)) fail(`There is no ${what} "${name}". There are: ${known.join(", ")}.`);
  return names;
}

const ownMajor = () => String(Number.parseInt(process.versions.node, 10));

function executableOf(major) {
  const node = major === ownMajor() ? process.execPath : major === "24" ? node24() : null;
  if (node === null)
    fail(`There is no Node ${major} here. This one is ${process.versions.node}; 24 comes from npm on Linux (x64).`);
  return { node, version: spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim().slice(1) };
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
