/**
 * A guard beside a command: a small shell that kills the command's processes if this process dies, even by SIGKILL.
 *
 * The guard waits for a line on a pipe whose other end this process holds. The system closes that end when this process
 * ends, however it ends. A command in a sandbox needs no guard: bubblewrap ends with its parent.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { markVariable } from "./process-tree.js";

/** Kills the group, and every process with the mark in its environment. */
const script = `read -r line && exit 0
kill -KILL -- "-$1" 2>/dev/null
for file in /proc/[0-9]*/environ; do
  if grep -qaF "$2" "$file" 2>/dev/null; then pid=\${file#/proc/}; kill -KILL "\${pid%/environ}" 2>/dev/null; fi
done`;

export type Guard = {
  /** Ends the guard, which then kills nothing. */
  dismiss(): void;
};

export function guardProcess(leader: number, mark: string): Guard {
  const guard: ChildProcess = spawn("sh", ["-c", script, "guard", String(leader), `${markVariable}=${mark}`], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
  });
  // Without a guard the command runs all the same. It is then only not ended with this process.
  guard.on("error", () => {});
  guard.stdin?.on("error", () => {});
  guard.unref();
  return { dismiss: () => void guard.stdin?.end("done\n") };
}
