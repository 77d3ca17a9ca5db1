/**
 * Verifies, inside the sandbox and before the command starts, that its mounts are the same files and folders that Pawl examined.
 *
 * Before bubblewrap mounts a folder, a background command of the same session can replace the folder by a link, which bubblewrap
 * would follow: `.vscode` would then show `~/.ssh`. Once the mounts exist, no other command can change them, so a check at that
 * point is final.
 */
import type { Mount } from "./folder-mounts.js";

/** Paths per check: the script must fit into a single program argument. */
const maxPaths = 25;

const refusal =
  "The sandbox did not start this command: a protected file or folder was replaced at the same time. Run the command again.";

/** @param stat the absolute path of the program `stat` */
export function addMountCheck(mounts: readonly Mount[], stat: string, command: readonly string[]): readonly string[] {
  if (mounts.length === 0) return command;
  const [first, rest] = [mounts.slice(0, maxPaths), mounts.slice(maxPaths)];
  const paths = first.map(({ path }) => quote(path)).join(" ");
  const identities = first.map(({ identity }) => identity).join("\n");
  const script = `[ "$(${quote(stat)} -c %d:%i ${paths})" = "${identities}" ] || { echo ${quote(refusal)} >&2; exit 126; }
exec "$@"`;
  return ["/bin/sh", "-c", script, "sh", ...addMountCheck(rest, stat, command)];
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
