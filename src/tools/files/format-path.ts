/**
 * Formats paths for a model.
 *
 * A name may contain line breaks and other control characters, which could forge lines of a listing. A path with such
 * characters is shown as JSON, in quotes and with escapes. The model writes it the same way in the input of a call.
 */

const maxShownCharacters = 500;

/** Formats a path on one line. */
export function formatPath(path: string): string {
  if (!unsafePath.test(path)) return path;
  return JSON.stringify(path).replace(unsafeLetter, escapeLetter);
}

/** Formats a path from a model for an error message: on one line, and truncated if it is long. */
export function formatRequestedPath(path: string): string {
  return path.length <= maxShownCharacters ? formatPath(path) : `${formatPath(path.slice(0, maxShownCharacters))}…`;
}

/** Control characters, format characters (such as those that change the direction of text), and line separators. */
const unsafeLetter = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Includes names that begin with a quote, because they would look like escaped names. */
const unsafePath = /^"|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

function escapeLetter(letter: string): string {
  let escaped = "";
  for (let at = 0; at < letter.length; at += 1) escaped += `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`;
  return escaped;
}
