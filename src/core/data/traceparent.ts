/**
 * The `traceparent` header of W3C Trace Context, which identifies the span in which a request was made.
 *
 * The grammar is that of version 00. Later versions begin with the same fields, and may append more.
 */

const grammar = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;

/** The span that a `traceparent` identifies. */
export type RemoteSpan = {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
};

/** Parses a `traceparent`. Returns undefined for an invalid one, which the specification says to ignore. */
export function parseTraceparent(value: unknown): RemoteSpan | undefined {
  const [, version, traceId = "", spanId = "", flags = "", rest] =
    typeof value === "string" ? (grammar.exec(value) ?? []) : [];
  if (version === undefined || version === "ff" || (version === "00" && rest === "-")) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The form that the log stores: 55 characters, version 00. */
export function traceparentOf({ traceId, spanId, isSampled }: RemoteSpan): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}
