/**
 * Identifies a process on this machine, to distinguish it from a later process with the same id. An identity that was recorded
 * before a crash is compared afterwards, so that an unrelated process is never signalled.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export type ProcessIdentity = {
  readonly pid: number;
  /** Clock ticks since boot; 0 if the system does not report start times. */
  readonly startedAt: number;
  readonly host: string;
  /** The boot id and the pid namespace; empty if the system does not report them. */
  readonly surroundings: string;
};

/** `unknown`: the process is on another machine or in another container, or the system does not report start times. */
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
    // The program's name is in parentheses, and may contain any character.
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
    // The process exists, but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
