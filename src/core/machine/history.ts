/**
 * A conversation from elsewhere that a session begins with.
 *
 * 1. It comes directly after `session_created`, in the same commit, and before the first run.
 * 2. It is added once, and never to a session that already exists.
 */
import type { Message } from "../data/message.js";

/** The form in which the conversation was given. */
export type HistorySource = "pawl" | "model_messages" | "ui_messages";

export type HistoryEventBody = {
  readonly type: "history_added";
  /** Complete: each call has its result. */
  readonly messages: readonly Message[];
  /** Where the conversation comes from. */
  readonly source: HistorySource;
};

/** A conversation on its way to the log: in parts, each of which becomes an entry. */
export type SeededHistory = {
  /** Where the conversation comes from. */
  readonly source: HistorySource;
  /** The messages of each part, or the blob that holds them as JSON, because a message of the inbox is bounded. */
  readonly parts: readonly (readonly Message[] | string)[];
};

/** Why a run with a history does not begin in a session that exists. */
export const lateHistoryNote =
  "The session has a conversation already: a history is added only when a session begins. Nothing was run.";
