/**
 * A sandbox for commands: bubblewrap, where it is installed and the system lets it work.
 */
import { spawnSync } from "node:child_process";

export type Sandbox = "bubblewrap" | "none";

const bubblewrap = "bwrap";

/** The program and its arguments that run a command line of `sh` in a folder. Never a shell around them. */
export function sandboxedCommand(sandbox: Sandbox, root: string, command: string): readonly [string, ...string[]] {
  if (sandbox === "none") return ["sh", "-c", command];
  return [bubblewrap, ...isolation, "--bind", root, root, "--chdir", root, "--", "sh", "-c", command];
}

/**
 * The system is seen read-only, with temporary folders of its own; no network but a loopback of its own; processes are seen only within, and
 * all of them end when bubblewrap does. `--new-session` keeps a command from typing into the user's terminal.
 */
const isolation = [
  ["--ro-bind", "/", "/"],
  ["--dev", "/dev"],
  ["--proc", "/proc"],
  ["--tmpfs", "/tmp"],
  ["--tmpfs", "/run"],
  ["--setenv", "TMPDIR", "/tmp"],
  ["--unshare-all"],
  ["--die-with-parent"],
  ["--new-session"],
].flat();

/** Tries it: installed is not enough, since many systems do not let users make namespaces. */
export function detectSandbox(): Sandbox {
  const tried = spawnSync(bubblewrap, [...isolation, "--", "true"], { stdio: "ignore", timeout: 5000 });
  return tried.status === 0 ? "bubblewrap" : "none";
}
