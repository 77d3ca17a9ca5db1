/**
 * The message of anything that was thrown. Any value can be thrown, and reading it may throw again. `formatError`
 * (runtime/lib/error-text.ts) also includes the causes, truncated for the log.
 */
export function getErrorMessage(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return "an error that cannot be formatted";
  }
}
