/**
 * Where a person's own files for one folder are: in the home, outside of the folder, so that neither an agent nor git can
 * write them. Worktrees of one repository share them.
 */
import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export function projectFolder(home: string, root: string): string {
  const name = createHash("sha256").update(mainWorktree(root)).digest("hex").slice(0, 32);
  return join(home, "projects", name);
}

/**
 * The first worktree of the repository whose worktree this folder is; else the folder. A folder could claim to be a worktree
 * of another repository, so that repository must know it, too.
 */
export function mainWorktree(root: string): string {
  const link = join(root, ".git");
  try {
    if (!statSync(link).isFile()) return root;
    const [, named = ""] = /^gitdir: (.+)$/m.exec(readFileSync(link, "utf8")) ?? [];
    const own = realpathSync(resolve(root, named.trim()));
    const common = realpathSync(resolve(own, readFileSync(join(own, "commondir"), "utf8").trim()));
    const known = realpathSync(resolve(own, readFileSync(join(own, "gitdir"), "utf8").trim()));
    const isBelow = dirname(own) === join(common, "worktrees");
    return isBelow && known === realpathSync(link) ? dirname(common) : root;
  } catch {
    return root;
  }
}
