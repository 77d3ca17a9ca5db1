/**
 * Explains system errors about files in words that help a model to react.
 */

/** The code of a system error, such as `ENOENT`; empty for any other error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Explains a system error about a path. The result keeps the error's code, and never shows the descriptor that reached the file. */
export function explainSystemError(error: unknown, displayPath: string): Error {
  const code = codeOf(error);
  const reason = reasons.get(code);
  // The system's own message would only repeat this message, so it is not added as a cause.
  return reason === undefined
    ? hideDescriptors(error, displayPath)
    : Object.assign(new Error(`${displayPath} ${reason}`), { code });
}

/** The system's message contains the path that was passed to it, which may begin with a descriptor of this process (folder.ts). */
function hideDescriptors(error: unknown, displayPath: string): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!descriptorPath.test(error.message)) return error;
  const named = new Error(error.message.replaceAll(descriptorPath, `'${displayPath}'`));
  return Object.assign(named, { code: codeOf(error) });
}

const descriptorPath = /'\/proc\/self\/fd\/\d+[^']*'(?: -> '[^']*')?/g;

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist."],
  ["ENOTDIR", "is not a folder, or has a parent that is not a folder."],
  ["EACCES", "may not be accessed: permission denied."],
  ["EPERM", "may not be accessed: not permitted."],
  ["EISDIR", "is a folder."],
  ["ELOOP", "is a link that leads out of the root, or a loop of links."],
  ["ENAMETOOLONG", "has a name that is too long."],
  ["ENOSPC", "cannot be written: no space is left."],
  ["EROFS", "cannot be written: the file system is read-only."],
  ["EMFILE", "cannot be opened: this process has too many open files. Try again later."],
]);
