/**
 * What was thrown, in words: anything can be, and looking at it may throw again.
 */
const longest = 10_000;

export function textOfError(error: unknown): string {
  try {
    const text = error instanceof Error ? String(error.message) || String(error.name) : describe(error);
    return text.length > longest ? `${text.slice(0, longest)}…` : text;
  } catch {
    return "something was thrown that cannot be shown";
  }
}

function describe(error: unknown): string {
  if (typeof error === "string") return error;
  return typeof error === "symbol" ? String(error) : (JSON.stringify(error) ?? String(error));
}
