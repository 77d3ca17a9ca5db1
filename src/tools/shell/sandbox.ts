/**
 * A sandbox for commands: bubblewrap, if it is installed and the system allows it.
 */
import { spawnSync } from "node:child_process";

/** Where commands run. */
export type Sandbox = "bubblewrap" | "none";

const bubblewrap = "bwrap";

/** Returns the program and arguments that run a command in a folder. They need no further shell. */
export function wrapInSandbox(
  sandbox: Sandbox,
  root: string,
  command: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  if (sandbox === "none") return command;
  return [bubblewrap, ...(findIsolation() ?? strictIsolation), "--bind", root, root, "--chdir", root, "--", ...command];
}

/**
 * A command sees the system read-only, has its own temporary folders, and only a loopback network. It sees only the
 * processes of its sandbox, which all end with bubblewrap. `--new-session` prevents a command from typing into the
 * user's terminal.
 *
 * Root keeps nothing that leads out. Without capabilities it cannot mount the system writable again. The kernel's
 * settings in /proc/sys do not ask for capabilities, only for the user id 0: `kernel.core_pattern` would start a program
 * outside of the sandbox. So /proc is read-only.
 */
const baseIsolation = [
  ["--ro-bind", "/", "/"],
  ["--dev", "/dev"],
  ["--proc", "/proc"],
  ["--remount-ro", "/proc"],
  ["--tmpfs", "/tmp"],
  ["--tmpfs", "/run"],
  ["--setenv", "TMPDIR", "/tmp"],
  ["--unshare-all"],
  ["--cap-drop", "ALL"],
  ["--die-with-parent"],
  ["--new-session"],
].flat();

/**
 * The same without user namespaces of a command's own. A command has all capabilities in such a namespace. The mounts
 * stay locked there, but it reaches more of the kernel. bubblewrap closes them since 0.8.0.
 */
const strictIsolation = [...baseIsolation, "--unshare-user", "--disable-userns"];

let workingIsolation: readonly string[] | null = null;

/** The strictest isolation that works here; null if bubblewrap does not work. */
function findIsolation(): readonly string[] | null {
  workingIsolation ??= [strictIsolation, baseIsolation].find(isolationWorks) ?? null;
  return workingIsolation;
}

function isolationWorks(isolation: readonly string[]): boolean {
  const options = { stdio: "ignore", timeout: 5000 } as const;
  return spawnSync(bubblewrap, [...isolation, "--", "true"], options).status === 0;
}

/**
 * Finds out whether bubblewrap works, by running it. To be installed is not enough: many systems do not let users
 * create namespaces.
 */
export function detectSandbox(): Sandbox {
  return findIsolation() === null ? "none" : "bubblewrap";
}
