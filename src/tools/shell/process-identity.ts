/**
 * A process of this machine, told apart from a later one that got the same id. What is written down of a process before
 * a crash is compared with this afterwards, so that nobody else's process is ever signalled.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export type ProcessIdentity = {
  readonly pid: number;
  /** In clock ticks since the boot; 0 if the system does not tell. */
  readonly startedAt: number;
  readonly host: string;
  /** The boot, and the namespace of process ids; empty if the system does not tell. */
  readonly surroundings: string;
};

/** `unknown`: it is of another machine or container, or the system does not tell when a process has started. */
export type ProcessFate = "running" | "gone" | "unknown";

export function readProcessIdentity(pid: number): ProcessIdentity {
  return { pid, startedAt: readProcessStat(pid)?.startedAt ?? 0, host: hostname(), surroundings: readSurroundings() };
}

export function findProcessFate({ pid, startedAt, host, surroundings }: ProcessIdentity): ProcessFate {
  if (host !== hostname()) return "unknown";
  const currentSurroundings = readSurroundings();
  if (surroundings !== currentSurroundings)
    return surroundings.split(" ")[0] === currentSurroundings.split(" ")[0] ? "unknown" : "gone";
  const current = readProcessStat(pid);
  if (current !== null) return !current.hasEnded && current.startedAt === startedAt ? "running" : "gone";
  return processExists(pid) ? "unknown" : "gone";
}

function readSurroundings(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

/** Null if there is no such process, or no `/proc`. */
function readProcessStat(pid: number): { readonly startedAt: number; readonly hasEnded: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program stands in brackets, and may hold any character.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { startedAt: Number(fields[19]), hasEnded: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return null;
  }
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs, as somebody else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
