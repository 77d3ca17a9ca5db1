/**
 * A sandbox for commands: bubblewrap, if it is installed and the system allows it.
 */
import { spawnSync } from "node:child_process";

/** Where commands run. */
export type Sandbox = "bubblewrap" | "none";

const bubblewrap = "bwrap";

/** Returns the program and arguments that run a command line of `sh` in a folder. They need no further shell. */
export function sandboxedCommand(sandbox: Sandbox, root: string, command: string): readonly [string, ...string[]] {
  if (sandbox === "none") return ["sh", "-c", command];
  return [bubblewrap, ...isolation, "--bind", root, root, "--chdir", root, "--", "sh", "-c", command];
}

/**
 * A command sees the system read-only, has its own temporary folders, and only a loopback network. It sees only the
 * processes of its sandbox, which all end with bubblewrap. `--new-session` prevents a command from typing into the
 * user's terminal.
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

/**
 * Finds out whether bubblewrap works, by running it. To be installed is not enough: many systems do not let users
 * create namespaces.
 */
export function detectSandbox(): Sandbox {
  const tried = spawnSync(bubblewrap, [...isolation, "--", "true"], { stdio: "ignore", timeout: 5000 });
  return tried.status === 0 ? "bubblewrap" : "none";
}
