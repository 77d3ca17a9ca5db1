/**
 * Processes of a world: each has a holder of its own.
 */
import type { Holder } from "../../ports/store.js";
import type { Process, World } from "./world.js";

export const leaseMs = 1_000;

/** Whether the process that a holder stands for was killed. */
export function isKilled({ processes }: World, { id }: Holder): boolean {
  return processes.some((one) => one.name === id && one.status === "killed");
}

/** Another process, with what `build` makes for it. */
export function enterWorld(
  world: World,
  build: (self: () => Process, named: Pick<Process, "name" | "holder">) => Process["agent"],
): Process {
  const pid = world.processes.length + 1;
  const name = `p${pid}`;
  const holder: Holder = { id: name, host: "simulated", pid, startedAt: 0 };
  const agent = build(() => process, { name, holder });
  const process: Process = { name, holder, agent, status: "running" };
  world.processes.push(process);
  world.note({ type: "process", process: name, what: "started" });
  return process;
}
