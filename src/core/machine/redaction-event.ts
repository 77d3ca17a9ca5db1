/**
 * The event of a redaction. The same commit replaces the content in the entries before it, so a log never says that content
 * is gone while it is still there.
 */
export type RedactionEventBody =
  /** Content was taken out of the log. */
  {
    readonly type: "content_redacted";
    /** The entries that have other content since, in ascending order: at most 10,000. A redaction of more has several events. */
    readonly entries: readonly number[];
    /** The person or account that asked for it. */
    readonly by?: string;
    /** Why, in words. */
    readonly note?: string;
  };
