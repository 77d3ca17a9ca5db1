/**
 * Compares, inside the sandbox and before the command starts, what is mounted in its folder with what Pawl looked at.
 *
 * Between the look and the mount, a background command of the same session can replace a folder by a link, and bubblewrap follows
 * links: `.vscode` would then show `~/.ssh`. Once the mounts are made, no other command can change what this one sees, so a comparison at that
 * point is final.
 */
import type { Mount } from "./folder-mounts.js";

/** Paths in one comparison: their names and identities must fit into an argument of a program. */
const maxPaths = 25;

const refusal =
  "The sandbox did not start this command: a file or folder that it closes was replaced at the same time. Run the command again.";

/** @param stat the absolute path of the program `stat` */
export function withMountCheck(mounts: readonly Mount[], stat: string, command: readonly string[]): readonly string[] {
  if (mounts.length === 0) return command;
  const [first, rest] = [mounts.slice(0, maxPaths), mounts.slice(maxPaths)];
  const paths = first.map(({ path }) => quote(path)).join(" ");
  const identities = first.map(({ identity }) => identity).join("\n");
  const script = `[ "$(${quote(stat)} -c %d:%i ${paths})" = "${identities}" ] || { echo ${quote(refusal)} >&2; exit 126; }
exec "$@"`;
  return ["/bin/sh", "-c", script, "sh", ...withMountCheck(rest, stat, command)];
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
