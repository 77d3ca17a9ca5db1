/**
 * Texts that others wrote, cut to a length that a log can keep.
 */

/** Characters of an error's message, or of somebody's reason, unless the caller allows fewer. */
export const maxReasonCharacters = 10_000;

/** Errors below one that are told: "fetch failed" says nothing without what it comes from. */
const maxCauses = 4;

/** What was thrown, in words, and what caused it. Anything can be thrown, and looking at it may throw again. */
export function formatError(error: unknown, maxCharacters = maxReasonCharacters): string {
  try {
    return truncate(error instanceof Error ? formatWithCauses(error, maxCauses) : describe(error), maxCharacters);
  } catch {
    return "something was thrown that cannot be shown";
  }
}

/** At most this many characters, and an ellipsis if some were cut off. */
export function truncate(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** A cause whose words stand in the message already is not told again. */
function formatWithCauses(error: Error, causes: number): string {
  const message = String(error.message);
  const below: unknown = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  if (causes === 0 || !(below instanceof Error)) return message || String(error.name);
  const cause = formatWithCauses(below, causes - 1);
  if (message === "") return cause;
  return message.includes(cause) ? message : `${message}: ${cause}`;
}

function describe(error: unknown): string {
  if (typeof error === "string") return error;
  return typeof error === "symbol" ? String(error) : (JSON.stringify(error) ?? String(error));
}
