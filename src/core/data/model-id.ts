/**
 * Helpers for model ids.
 */

/** Drops the snapshot date from a model id: `claude-x` for `claude-x-20260922` and `claude-x-2026-09-22`. */
export function withoutDate(modelId: string): string {
  return modelId.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, "");
}
