/**
 * The options and the result of a replay.
 */
import type { Difference } from "../../core/data/difference.js";
import type { EventType } from "../../core/machine/event.js";
import type { Model } from "../../ports/model.js";

/** What to read from the log, and what to run with the current code. */
export type ReplayOptions = {
  /**
   * "present" (default): `canExecuteTool` is called again. "recorded": its recorded decisions are used. Use "recorded" if
   * its decisions depend on something outside the code, such as the user at that time.
   */
  readonly policy?: "present" | "recorded";
  /**
   * "present" (default): a changed system prompt or changed tool specifications are a difference. "recorded": such
   * changes are ignored, so that the replay compares the entries after them.
   */
  readonly prompt?: "present" | "recorded";
  /**
   * "recorded" (default): no tool runs. "present": durable tools run again, with their recorded steps and answers. A step
   * that is not recorded does not run: it is a difference.
   */
  readonly durable?: "present" | "recorded";
  /** Replaces the answers in the log. A model from `createReplayModel` also compares the requests. */
  readonly model?: Model;
};

/** The result of a replay. */
export type Replay = {
  readonly sessionId: string;
  /** The number of entries compared, including those of child sessions. */
  readonly entries: number;
  /** The number of sessions compared: the session and its children. */
  readonly sessions: number;
  /** The first point where the current code behaves differently; null if there is none. */
  readonly difference: ReplayDifference | null;
  /**
   * The first entry of the session itself whose content was redacted. From there on, the replay only checks that entries
   * are possible: it cannot know what the current code would do with the original content.
   */
  readonly redactedFrom?: number;
};

/** The first difference. `path` is a path in the event or in the state. */
export type ReplayDifference = Difference & {
  /** The session, or the child session, in whose log the difference is. */
  readonly sessionId: string;
  /** The entry. If the log has ended and the current code continues, the number after the last entry. */
  readonly seq: number;
  /** The recorded event; null at the end of the log. */
  readonly event: EventType | null;
  /** The difference as a sentence. */
  readonly message: string;
};
