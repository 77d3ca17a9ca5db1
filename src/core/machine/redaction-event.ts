/**
 * The event of a redaction. The same commit replaces the content in the earlier entries, so a log never claims that content is gone while
 * it is still there.
 */
export type RedactionEventBody =
  /** Content was removed from the log. */
  {
    readonly type: "content_redacted";
    /** The entries whose content was replaced, in ascending order; at most 10,000. A larger redaction has several events. */
    readonly entries: readonly number[];
    /** The person or account that requested it. */
    readonly by?: string;
    /** The reason, as text. */
    readonly note?: string;
  };
