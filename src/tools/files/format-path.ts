/**
 * Paths as a model is shown them.
 *
 * A name may hold line breaks and other control characters, which could forge lines of a listing. A path with such
 * characters is shown as JSON, in quotes and with escapes. That is also how the model writes it in the input of a call.
 */

const maxShownCharacters = 500;

/** A path on one line. */
export function formatPath(path: string): string {
  if (!unsafePath.test(path)) return path;
  return JSON.stringify(path).replace(unsafeLetter, escapeLetter);
}

/** A path that a model asked for, for an error message: on one line, and cut if it is long. */
export function formatRequestedPath(path: string): string {
  return path.length <= maxShownCharacters ? formatPath(path) : `${formatPath(path.slice(0, maxShownCharacters))}…`;
}

/** A control, a format character (such as those that turn the direction of text), or a separator of lines. */
const unsafeLetter = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A name that begins with a quote would look like an escaped one. */
const unsafePath = /^"|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

function escapeLetter(letter: string): string {
  let escaped = "";
  for (let at = 0; at < letter.length; at += 1) escaped += `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`;
  return escaped;
}
