/**
 * A person requested a compaction. It precedes the next model call of the run; in a session at rest, it starts at once.
 */
export type CompactionRequest = {
  readonly type: "compaction_requested";
  /** What the summary is to keep, in the person's words. */
  readonly keep?: string;
  readonly by?: string;
};
