/**
 * System errors about files, in words that tell a model what to do.
 */

/** The code of a system error, such as `ENOENT`; empty for another error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Puts a system error about a path into words. */
export function explained(error: unknown, shown: string): Error {
  const reason = reasons.get(codeOf(error));
  if (reason !== undefined) return new Error(`${shown} ${reason}`, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist."],
  ["ENOTDIR", "is not a folder, or has a parent that is not a folder."],
  ["EACCES", "may not be accessed: permission denied."],
  ["EPERM", "may not be accessed: not permitted."],
  ["EISDIR", "is a folder."],
  ["ELOOP", "is a link that leads out of the root, or in a circle."],
  ["ENAMETOOLONG", "has a name that is too long."],
  ["ENOSPC", "cannot be written: no space is left."],
  ["EROFS", "cannot be written: the file system is read-only."],
  ["EMFILE", "cannot be opened: this process has too many open files. Try again later."],
]);
