/**
 * The network and `/tmp` that the commands of one sandbox share. A holder process owns both, and commands join its namespaces. The
 * only service in this network is a port of the proxy. The holder dies with this process and leaves nothing behind: `/tmp` is in
 * memory, and the proxy's socket has already been unlinked.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { isWithin } from "../files/root.js";
import { type SharedFolder, socketInside } from "./bubblewrap-arguments.js";
import { type Bubblewrap, findSystemProgram } from "./probe.js";
import { type SandboxProxy, type SandboxProxyOptions, startSandboxProxy } from "./proxy.js";

/** The proxy's port in the network of commands. */
export const proxyPort = 3128;

export type SandboxSession = {
  readonly proxy: SandboxProxy;
  /** The command line that joins the holder's namespaces; empty if commands share nothing. */
  readonly join: readonly string[];
  /** The shared folder, as seen after joining; null if commands share nothing. */
  readonly shared: SharedFolder;
  /** The proxy's socket, for a command with its own network; null if commands share a network. */
  readonly socket: string | null;
  readonly hasEnded: () => boolean;
  readonly close: () => Promise<void>;
};

export type SessionOptions = Omit<SandboxProxyOptions, "path"> & {
  readonly bubblewrap: Bubblewrap;
};

export type SessionPrograms = {
  readonly nsenter: string;
  /** A system folder over which the shared folder is mounted. */
  readonly mount: string;
  /** The program that connects the port to the proxy's socket; null for Node, as in this process. */
  readonly socat: string | null;
};

/** Finds the programs that a session needs. @returns if something is missing, the reason as part of a sentence */
export function findSessionPrograms(avoid: readonly string[], paths: readonly string[]): SessionPrograms | string {
  const nsenter = findSystemProgram("nsenter", avoid);
  if (nsenter === null) return "nsenter (util-linux) is not installed";
  const isFree = (folder: string) => existsSync(folder) && !paths.some((path) => isWithin(folder, path));
  const mount = ["/media", "/srv", "/mnt"].find(isFree);
  if (mount === undefined) return "none of the folders /media, /srv and /mnt exists and is unused";
  const socat = findSystemProgram("socat", avoid);
  return { nsenter, mount, socat };
}

const startTimeoutMs = 10_000;
const pollMs = 4;

/** @throws Error with the reason if the session cannot be started */
export async function startSession(options: SessionOptions, programs: SessionPrograms): Promise<SandboxSession> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-sandbox-"));
  let proxy: SandboxProxy | undefined;
  let holder: ChildProcess | undefined;
  try {
    const socket = join(folder, "proxy");
    proxy = await startSandboxProxy({ ...options, path: socket });
    holder = startHolder(options.bubblewrap, programs, socket);
    const child = holder;
    const pid = await waitForBridge(child);
    const started = proxy;
    return {
      proxy: started,
      join: [programs.nsenter, "--target", String(pid), "--user", "--mount", "--net", "--preserve-credentials", "--"],
      shared: { path: programs.mount },
      socket: null,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      async close() {
        child.kill("SIGKILL");
        await started.close();
      },
    };
  } catch (error) {
    holder?.kill("SIGKILL");
    await proxy?.close();
    throw error;
  } finally {
    // The holder has mounted the socket, so its name is no longer needed.
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A session for a machine on which each command has its own network and its own `/tmp`. */
export async function startLoneProxy(options: Omit<SandboxProxyOptions, "path">): Promise<SandboxSession> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-sandbox-"));
  const socket = join(folder, "proxy");
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const proxy = await startSandboxProxy({ ...options, path: socket });
    process.once("exit", remove);
    return {
      proxy,
      join: [],
      shared: null,
      socket,
      hasEnded: () => false,
      async close() {
        await proxy.close();
        process.off("exit", remove);
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Wraps a command so that the bridge starts first, in the command's network. @param socat an absolute path */
export function addBridge(socat: string, command: readonly string[]): readonly string[] {
  const line = `${listeningLine.slice(1, -1)}`;
  const script = `"$1" ${socatArguments(socketInside).join(" ")} </dev/null >/dev/null 2>&1 &
shift
n=0
while [ "$n" -lt 500 ]; do
  while read -r _ local _; do case "$local" in ${line}) n=1000;; esac; done </proc/net/tcp
  [ "$n" -ge 500 ] || { n=$((n + 1)); sleep 0.01; }
done
exec "$@"`;
  return ["/bin/sh", "-c", script, "sh", socat, ...command];
}

function socatArguments(socket: string): readonly string[] {
  return ["-t", "86400", `TCP-LISTEN:${proxyPort},bind=127.0.0.1,fork,reuseaddr,backlog=128`, `UNIX-CONNECT:${socket}`];
}

function startHolder({ path }: Bubblewrap, { mount, socat }: SessionPrograms, socket: string): ChildProcess {
  const inside = join(mount, "proxy");
  const program = socat !== null ? [socat, ...socatArguments(inside)] : [process.execPath, "-e", nodeBridge(inside)];
  const holder = spawn(
    path,
    [
      ...["--unshare-user", "--unshare-net", "--die-with-parent", "--new-session", "--dev-bind", "/", "/"],
      ...["--tmpfs", mount, "--perms", "1777", "--dir", join(mount, "tmp"), "--dir", join(mount, "home")],
      ...["--bind", socket, inside, "--chdir", "/", "--info-fd", "3", "--", ...program],
    ],
    { stdio: ["ignore", "ignore", "pipe", "pipe"], env: { PATH: "/usr/bin:/bin" }, detached: true, cwd: "/" },
  );
  // The program can exit even if its sandbox was not closed.
  holder.unref();
  for (const stream of holder.stdio)
    if (stream !== null && stream !== undefined && "unref" in stream) (stream as { unref(): void }).unref();
  return holder;
}

/** The bridge as a Node program, for a machine without socat. It starts more slowly. */
function nodeBridge(socket: string): string {
  const relay = `s=>{const u=n.connect({path:${JSON.stringify(socket)},allowHalfOpen:true});s.pipe(u).pipe(s);for(const e of[s,u])e.on("error",()=>{s.destroy();u.destroy()})}`;
  return `const n=require("net");n.createServer({allowHalfOpen:true},${relay}).listen(${proxyPort},"127.0.0.1")`;
}

/** Waits until the port is open in the holder's network. @returns the holder's process id */
async function waitForBridge(holder: ChildProcess): Promise<number> {
  let [info, stderr] = ["", ""];
  const failure: { error?: Error } = {};
  holder.once("error", (error) => {
    failure.error = error;
  });
  holder.stderr?.on("data", (bytes: Buffer) => {
    stderr = `${stderr}${bytes}`.slice(-2_000);
  });
  (holder.stdio[3] as Readable | null)?.on("data", (bytes: Buffer) => {
    info = `${info}${bytes}`.slice(0, 2_000);
  });
  const until = performance.now() + startTimeoutMs;
  while (performance.now() < until) {
    const pid = Number(/"child-pid": *(\d+)/.exec(info)?.[1] ?? 0);
    if (pid > 0 && isListening(pid)) return pid;
    if (failure.error !== undefined) throw failure.error;
    if (holder.exitCode !== null || holder.signalCode !== null)
      throw new Error(`The network of the sandbox could not be started: ${stderr.trim() || "bubblewrap ended"}`);
    await setTimeout(pollMs);
  }
  throw new Error(`The network of the sandbox did not start within ${startTimeoutMs / 1000} s.`);
}

/** 127.0.0.1 and the port, as /proc/net/tcp formats them. */
const listeningLine = ` 0100007F:${proxyPort.toString(16).toUpperCase().padStart(4, "0")} `;

function isListening(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/net/tcp`, "latin1").includes(listeningLine);
  } catch {
    return false;
  }
}
