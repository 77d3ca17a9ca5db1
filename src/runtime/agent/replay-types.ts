/**
 * What a replay is asked, and what it tells.
 */
import type { Difference } from "../../core/data/difference.js";
import type { EventType } from "../../core/machine/event.js";
import type { Model } from "../../ports/model.js";

export type ReplayOptions = {
  /**
   * Whether `canExecuteTool` is asked again ("present", the default), or has its say from the recording ("recorded"): where
   * it depends on who was there.
   */
  readonly policy?: "present" | "recorded";
  /**
   * Whether another system prompt, or other tool specifications, than the log names are a difference ("present", the default), or
   * are left aside ("recorded"), so that what comes after them is looked at.
   */
  readonly prompt?: "present" | "recorded";
  /** Answers in the place of what the log has: a model that replays a recording also compares what it is asked. */
  readonly model?: Model;
};

export type Replay = {
  readonly sessionId: string;
  /** Entries that were gone through, those of child sessions included. */
  readonly entries: number;
  /** Sessions that were gone through: 1, and its children. */
  readonly sessions: number;
  /** Where the present code first does something else; null where it does the same all the way. */
  readonly difference: ReplayDifference | null;
};

/** The first difference. `path` is a place in the event, or in the state. */
export type ReplayDifference = Difference & {
  /** The session, or the child session, whose log it is. */
  readonly sessionId: string;
  /** The entry; the last one plus 1 where the log has ended and the present code goes on. */
  readonly seq: number;
  /** The event that was recorded there; null where the log has ended. */
  readonly event: EventType | null;
  /** All of that as a sentence. */
  readonly message: string;
};
