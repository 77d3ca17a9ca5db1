/**
 * One line on content that was redacted.
 */
import type { PublicEvent } from "../index.js";

export function redactionNote({
  entries,
  by,
  note,
}: Extract<PublicEvent, { readonly type: "content_redacted" }>): string {
  const what = entries.length === 1 ? "1 entry" : `${entries.length} entries`;
  return `Content of ${what} was redacted${by === undefined ? "" : ` by ${by}`}${note === undefined ? "." : `: ${note}`}`;
}
