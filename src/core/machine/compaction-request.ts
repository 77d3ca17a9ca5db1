/**
 * A person's request for a compaction. In a run, the compaction precedes the next model call; in a session at rest, it starts at once.
 */
export type CompactionRequest = {
  readonly type: "compaction_requested";
  /** What the summary should keep, in the person's words. */
  readonly keep?: string;
  readonly by?: string;
};
