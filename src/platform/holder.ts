/**
 * Identifies the process that holds a lease, also among later processes with the same process id.
 */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "../ports/store.js";

/** A holder for this process. Each call returns a new id; a process needs one holder. */
export function createHolder(): Holder {
  ownProcess ??= {
    surroundings: surroundings(),
    host: findHostName(),
    pid: process.pid,
    startedAt: readProcess(process.pid)?.startedAt ?? 0,
  };
  const { host, pid, startedAt } = ownProcess;
  return { id: [randomUUID(), ...ownProcess.surroundings].join(" "), host, pid, startedAt };
}

/** The facts about this process that never change. Reading them takes four files, and a program may create many agents. */
let ownProcess: (Omit<Holder, "id"> & { readonly surroundings: readonly string[] }) | undefined;

/**
 * Whether a holder is known to be dead. Pass it to `Store.claim` and `Store.due` in a program that uses a store directly, or
 * call it before you report that a run is under way. True: its process on this host is gone, or its process id was reused.
 * False if that cannot be known: on another host, in another container, or in another boot. Another boot may be that of
 * another machine with the same name, whose processes live. If this host was rebooted instead, the lease has expired
 * meanwhile, or soon will.
 */
export function isHolderDead(holder: Holder): boolean {
  // A worker asks this again and again, of each session that its own process holds.
  if (isHeldHere(holder) && holder.id.endsWith(ownProcess?.surroundings.join(" ") ?? "")) return false;
  if (holder.host !== findHostName()) return false;
  const [, boot, namespace] = holder.id.split(" ");
  const [currentBoot, currentNamespace] = surroundings();
  if (boot !== currentBoot || namespace !== currentNamespace) return false;
  const current = readProcess(holder.pid);
  if (current === undefined) return !isRunning(holder.pid);
  return current.hasEnded || current.startedAt !== holder.startedAt;
}

/** Whether a holder is an agent of this process. A program that shows sessions marks those that others drive. */
export function isHeldHere({ host, pid, startedAt }: Holder): boolean {
  return (
    ownProcess !== undefined && host === ownProcess.host && pid === ownProcess.pid && startedAt === ownProcess.startedAt
  );
}

/** Two machines of the same name are distinguished by a hash of the machine's own id, if it has one. */
function findHostName(): string {
  const machine = readTrimmedFile("/etc/machine-id");
  if (machine === undefined) return hostname();
  return `${hostname()} ${createHash("sha256").update(`pawl ${machine}`).digest("hex").slice(0, 8)}`;
}

/** On Linux: the current boot, and the process ids' namespace (a container's ids mean nothing in another). */
function surroundings(): readonly string[] {
  const boot = readTrimmedFile("/proc/sys/kernel/random/boot_id");
  if (boot === undefined) return [];
  try {
    return [boot, readlinkSync("/proc/self/ns/pid")];
  } catch {
    return [boot];
  }
}

/** On Linux: when a process started, in clock ticks since the boot. Undefined if that cannot be read. */
function readProcess(pid: number): { readonly startedAt: number; readonly hasEnded: boolean } | undefined {
  const stat = readTrimmedFile(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses, which may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { startedAt: Number(fields[19]), hasEnded: fields[0] === "Z" || fields[0] === "X" };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as another user.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function readTrimmedFile(path: string): string | undefined {
  try {
    const text = readFileSync(path, "utf8").trim();
    return text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}
