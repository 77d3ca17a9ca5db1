/**
 * An imported conversation that a session begins with.
 *
 * 1. It comes directly after `session_created`, in the same commit, and before the first run.
 * 2. It is added once, and never to a session that already exists.
 */
import type { Message } from "../data/message.js";

/** The form in which the conversation was given. */
export type HistorySource = "pawl" | "model_messages" | "ui_messages";

export type HistoryEventBody = {
  readonly type: "history_added";
  /** The conversation. It is complete: each call has its result. */
  readonly messages: readonly Message[];
  /** The form in which the conversation was given. */
  readonly source: HistorySource;
};

/** An imported conversation on its way to the log, in parts. Each part becomes an entry. */
export type SeededHistory = {
  /** The form in which the conversation was given. */
  readonly source: HistorySource;
  /** The messages of each part, or the blob that holds them as JSON, because the size of an inbox message is limited. */
  readonly parts: readonly (readonly Message[] | string)[];
};

/** The note of a run with a history whose session already exists. */
export const lateHistoryNote =
  "The session already has a conversation. A history can be added only when a session begins. Nothing was run.";
