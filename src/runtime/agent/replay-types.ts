/**
 * The options and the result of a replay.
 */
import type { Difference } from "../../core/data/difference.js";
import type { EventType } from "../../core/machine/event.js";
import type { Model } from "../../ports/model.js";

/** What is taken from the log, and what from the present program. */
export type ReplayOptions = {
  /**
   * "present" (default): `canExecuteTool` is asked again. "recorded": its recorded decisions count. Use "recorded" if
   * its decisions depend on something outside the code, such as the user at that time.
   */
  readonly policy?: "present" | "recorded";
  /**
   * "present" (default): a changed system prompt, or changed tool specifications, are a difference. "recorded": such
   * changes are ignored, so that the replay compares the entries after them.
   */
  readonly prompt?: "present" | "recorded";
  /**
   * "recorded" (default): no tool runs. "present": durable tools run again, with their recorded steps and answers. A step
   * that is not recorded does not run: it is a difference.
   */
  readonly durable?: "present" | "recorded";
  /** Answers instead of the log. A model that replays a recording also compares the requests. */
  readonly model?: Model;
};

/** What a replay found. */
export type Replay = {
  readonly sessionId: string;
  /** The number of entries compared, those of child sessions included. */
  readonly entries: number;
  /** The number of sessions compared: the session and its children. */
  readonly sessions: number;
  /** The first place at which the present code does something else; null if it does the same everywhere. */
  readonly difference: ReplayDifference | null;
  /**
   * The first entry whose content was redacted, in the session itself. From there on, entries were only checked to be possible: what the
   * present code would make of the former words cannot be known.
   */
  readonly redactedFrom?: number;
};

/** The first difference. `path` is a place in the event, or in the state. */
export type ReplayDifference = Difference & {
  /** The session, or the child session, in whose log the difference is. */
  readonly sessionId: string;
  /** The entry. If the log has ended and the present code goes on, the number after the last entry. */
  readonly seq: number;
  /** The recorded event; null at the end of the log. */
  readonly event: EventType | null;
  /** The difference as a sentence. */
  readonly message: string;
};
