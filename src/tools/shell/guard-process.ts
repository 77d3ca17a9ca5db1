/**
 * A guard process next to a command: a small shell that kills the command's processes if this process dies, even by SIGKILL.
 *
 * The guard waits on a pipe whose other end this process holds. The system closes that end when this process ends, however it ends.
 * A command in a sandbox needs no guard: bubblewrap dies with its parent.
 *
 * 1. The guard starts before the command, so a command never runs without one.
 * 2. The guard searches for processes until three searches in a row find none. A process that is executing another program briefly
 *    shows no environment, and a process that is found may have started others in the meantime.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { markVariable } from "./process-tree.js";

/** Kills the group of the last leader that it received, and every process with the mark in its environment. */
const guardScript = `while read -r line; do
  if [ "$line" = done ]; then exit 0; fi
  leader=$line
done
if [ -n "$leader" ]; then kill -KILL -- "-$leader" 2>/dev/null; fi
quiet=0
round=0
while [ "$quiet" -lt 3 ] && [ "$round" -lt 100 ]; do
  quiet=$((quiet + 1))
  round=$((round + 1))
  for file in $(grep -laF "$1" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}
    if kill -KILL "\${pid%/environ}" 2>/dev/null; then quiet=0; fi
  done
  sleep 0.1
done`;

export type Guard = {
  /** Passes the guard the pid of the command's first process, which leads its own process group. */
  watch(leader: number): void;
  /** Ends the guard without killing anything. */
  dismiss(): void;
};

export function startGuard(mark: string): Guard {
  const guard: ChildProcess = spawn("sh", ["-c", guardScript, "guard", `${markVariable}=${mark}`], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
  });
  // If the guard fails to start, the command still runs. It is then not killed if this process dies.
  guard.on("error", () => {});
  guard.stdin?.on("error", () => {});
  guard.unref();
  return {
    watch: (leader) => void guard.stdin?.write(`${leader}\n`),
    dismiss: () => void guard.stdin?.end("done\n"),
  };
}
