/**
 * Texts that others wrote, cut to a length that a log can keep.
 */

/** Characters of an error's message, or of somebody's reason, unless the caller allows fewer. */
export const mostReasonCharacters = 10_000;

/** What was thrown, in words. Anything can be thrown, and looking at it may throw again. */
export function textOfError(error: unknown, mostCharacters = mostReasonCharacters): string {
  try {
    return truncate(
      error instanceof Error ? String(error.message) || String(error.name) : describe(error),
      mostCharacters,
    );
  } catch {
    return "something was thrown that cannot be shown";
  }
}

/** At most this many characters, and an ellipsis if some were cut off. */
export function truncate(text: string, mostCharacters: number): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

function describe(error: unknown): string {
  if (typeof error === "string") return error;
  return typeof error === "symbol" ? String(error) : (JSON.stringify(error) ?? String(error));
}
