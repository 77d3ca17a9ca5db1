/**
 * The line about redacted content.
 */
import type { PublicEvent } from "../../index.js";

export function formatRedaction({
  entries,
  by,
  note,
}: Extract<PublicEvent, { readonly type: "content_redacted" }>): string {
  const subject = entries.length === 1 ? "1 entry" : `${entries.length} entries`;
  return `Content of ${subject} was redacted${by === undefined ? "" : ` by ${by}`}${note === undefined ? "." : `: ${note}`}`;
}
