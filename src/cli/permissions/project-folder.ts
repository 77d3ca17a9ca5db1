/**
 * The location of a person's own files for one folder: in the home, outside of the folder, so that neither an agent nor Git can
 * write them. Worktrees of one repository share these files.
 */
import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export function resolveProjectFolder(home: string, root: string): string {
  const name = createHash("sha256").update(findMainWorktree(root)).digest("hex").slice(0, 32);
  return join(home, "projects", name);
}

/**
 * The main worktree of the repository to which this worktree belongs; otherwise the folder itself. A folder could claim to be a
 * worktree of another repository, so that repository must list it as well.
 */
export function findMainWorktree(root: string): string {
  const link = join(root, ".git");
  try {
    if (!statSync(link).isFile()) return root;
    const [, gitdirText = ""] = /^gitdir: (.+)$/m.exec(readFileSync(link, "utf8")) ?? [];
    const gitDirectory = realpathSync(resolve(root, gitdirText.trim()));
    const commonDirectory = realpathSync(
      resolve(gitDirectory, readFileSync(join(gitDirectory, "commondir"), "utf8").trim()),
    );
    const linkBack = realpathSync(resolve(gitDirectory, readFileSync(join(gitDirectory, "gitdir"), "utf8").trim()));
    const isBelow = dirname(gitDirectory) === join(commonDirectory, "worktrees");
    return isBelow && linkBack === realpathSync(link) ? dirname(commonDirectory) : root;
  } catch {
    return root;
  }
}
