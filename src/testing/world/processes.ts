/**
 * The processes of a world: each has its own holder.
 */
import type { Holder } from "../../ports/store.js";
import type { Process, World } from "./world.js";

export const leaseMs = 1_000;

/** Whether the process of this holder was killed. */
export function isKilled({ processes }: World, { id }: Holder): boolean {
  return processes.some((candidate) => candidate.name === id && candidate.status === "killed");
}

/** Adds a process. `build` creates its agent. */
export function addProcess(
  world: World,
  build: (self: () => Process, identity: Pick<Process, "name" | "holder">) => Process["agent"],
  skewMs = 0,
): Process {
  const pid = world.processes.length + 1;
  const name = `p${pid}`;
  const holder: Holder = { id: name, host: "simulated", pid, startedAt: 0 };
  const agent = build(() => process, { name, holder });
  const process: Process = { name, holder, agent, skewMs, status: "running" };
  world.processes.push(process);
  world.record({ type: "process", process: name, what: "started" });
  return process;
}
