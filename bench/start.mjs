/**
 * What the start of each command costs after Node's own: CPU time, and time until it has ended. Each round starts Node alone and then
 * every command, so that other work of the machine falls on all of them; the figures are medians over the rounds.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { machine, median, table } from "./report.mjs";

const commands = [
  "--version",
  "--help",
  "sessions",
  "approvals",
  "schedule list",
  "trace 3f8c",
  "config",
  "doctor",
  "run --model demo --yes Hello",
];
/** Prints the CPU time of the whole process, in microseconds, when it ends. */
const report = `data:text/javascript,
  import { writeSync } from "node:fs";
  process.on("exit", () => { const { user, system } = process.cpuUsage(); writeSync(3, String(user + system)); });`;

export async function run({ quick, rest }) {
  const dist = rest.includes("--dist") ? rest[rest.indexOf("--dist") + 1] : "dist";
  const program = resolve(dist ?? "dist", "cli/main.js");
  const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
  const rows = new Map([null, ...commands].map((command) => [command, { cpu: [], wall: [] }]));
  try {
    for (let round = 0; round < (quick ? 5 : 25); round += 1)
      for (const [command, { cpu, wall }] of rows) {
        const args = command === null ? ["-e", "0"] : [program, ...command.split(" ")];
        const startedAt = performance.now();
        const { output } = spawnSync(process.execPath, ["--no-warnings", "--import", report, ...args], {
          cwd: folder,
          env: { ...process.env, PAWL_HOME: join(folder, "home") },
          stdio: ["ignore", "ignore", "ignore", "pipe"],
        });
        wall.push(performance.now() - startedAt);
        cpu.push(Number(output[3]) / 1_000);
      }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const node = rows.get(null);
  const lines = commands.map((command) => {
    const { cpu, wall } = rows.get(command);
    return [
      `\`pawl ${command}\``,
      ...[cpu, wall].flatMap((times, index) => {
        const own = [node.cpu, node.wall][index];
        return [(median(times) - median(own)).toFixed(0), (Math.min(...times) - Math.min(...own)).toFixed(0)];
      }),
    ];
  });
  const heads = ["after Node's own start", "CPU, ms, median", "least", "time, ms, median", "least"];
  console.log(`${machine()}; Node alone: ${median(node.cpu).toFixed(0)} ms of CPU.\n\n${table(heads, lines)}`);
}
