/**
 * Identifies the process that holds a lease, and distinguishes it from later processes with the same process id.
 */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "../ports/store.js";

/** Creates a holder for this process. Each call returns a new id; a process needs only one holder. */
export function createHolder(): Holder {
  ownProcess ??= {
    scope: readProcessScope(),
    host: findHostName(),
    pid: process.pid,
    startedAt: readProcess(process.pid)?.startedAt ?? 0,
  };
  const { host, pid, startedAt } = ownProcess;
  return { id: [randomUUID(), ...ownProcess.scope].join(" "), host, pid, startedAt };
}

/** Facts about this process that never change, cached: reading them takes four files, and a program may create many agents. */
let ownProcess: (Omit<Holder, "id"> & { readonly scope: readonly string[] }) | undefined;

/**
 * Whether a holder is known to be dead: its process on this host is gone, or its process id was reused. Pass this function to `Store.claim`
 * and `Store.due` in a program that uses a store directly, or call it before you report that a run is under way.
 *
 * False if this cannot be known: for a holder on another host, in another container, or from another boot. Another boot may belong to
 * another machine with the same name whose processes are still alive. If this host was rebooted instead, the lease has expired or soon
 * will.
 */
export function isHolderDead(holder: Holder): boolean {
  // Workers ask this repeatedly, for each session that their own process holds.
  if (isHeldHere(holder) && holder.id.endsWith(ownProcess?.scope.join(" ") ?? "")) return false;
  if (holder.host !== findHostName()) return false;
  const [, boot, namespace] = holder.id.split(" ");
  const [currentBoot, currentNamespace] = readProcessScope();
  if (boot !== currentBoot || namespace !== currentNamespace) return false;
  const current = readProcess(holder.pid);
  if (current === undefined) return !isRunning(holder.pid);
  return current.hasEnded || current.startedAt !== holder.startedAt;
}

/** Whether a holder is an agent of this process. Programs that list sessions use it to mark the ones that other processes drive. */
export function isHeldHere({ host, pid, startedAt }: Holder): boolean {
  return (
    ownProcess !== undefined && host === ownProcess.host && pid === ownProcess.pid && startedAt === ownProcess.startedAt
  );
}

/** The host name, with a hash of the machine's id if it has one, to distinguish machines of the same name. */
function findHostName(): string {
  const machine = readTrimmedFile("/etc/machine-id");
  if (machine === undefined) return hostname();
  return `${hostname()} ${createHash("sha256").update(`pawl ${machine}`).digest("hex").slice(0, 8)}`;
}

/** On Linux: the id of the current boot and the PID namespace. A container's process ids mean nothing in another container. */
function readProcessScope(): readonly string[] {
  const boot = readTrimmedFile("/proc/sys/kernel/random/boot_id");
  if (boot === undefined) return [];
  try {
    return [boot, readlinkSync("/proc/self/ns/pid")];
  } catch {
    return [boot];
  }
}

/** On Linux: when a process started, in clock ticks since boot. Undefined if that cannot be read. */
function readProcess(pid: number): { readonly startedAt: number; readonly hasEnded: boolean } | undefined {
  const stat = readTrimmedFile(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses. The name may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { startedAt: Number(fields[19]), hasEnded: fields[0] === "Z" || fields[0] === "X" };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process is running, as another user.
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
