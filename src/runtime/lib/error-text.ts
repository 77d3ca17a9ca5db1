/**
 * Formats errors and foreign strings, truncated for the log.
 */

/** Characters of an error's message or of a reason, unless the caller allows fewer. */
export const maxReasonCharacters = 10_000;

/** How many nested causes are included: "fetch failed" is useless without its cause. */
const maxCauses = 4;

/** Formats a thrown value and its causes. Any value can be thrown, and reading it may throw again. */
export function formatError(error: unknown, maxCharacters = maxReasonCharacters): string {
  try {
    return truncate(error instanceof Error ? formatWithCauses(error, maxCauses) : describe(error), maxCharacters);
  } catch {
    return "a value that cannot be formatted was thrown";
  }
}

/** At most this many characters, plus an ellipsis if the text was longer. */
export function truncate(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** A cause whose message is already part of the error's message is not repeated. */
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
