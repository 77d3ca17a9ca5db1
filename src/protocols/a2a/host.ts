/**
 * The program that serves an agent to A2A clients.
 */
import type { ClientSession } from "../../index.js";
import type { PostableSession } from "../run-cursors.js";

/** The session that backs a context. */
export type A2aSession = PostableSession & Pick<ClientSession, "abort" | "hasAnswerFrom">;

export type A2aHost = {
  /**
   * Opens the session of a context. Without a context id, opens the session that this message begins, which is always the same one
   * for the same message. Throws if the caller may not use the session.
   */
  readonly openSession: (contextId: string | undefined, messageId: string) => Promise<A2aSession>;
  /** Finds the session of a task. Null if it does not exist, or if the caller may not use it. */
  readonly findSession: (sessionId: string) => Promise<A2aSession | null>;
  /** The caller, which the log records as the author of calls and answers. */
  readonly by: string;
  /** Whether the caller may answer waiting calls. */
  readonly mayAnswer: boolean;
  /** Aborted when the response must be sent, or can no longer be delivered. The run continues. */
  readonly signal: AbortSignal;
  /** Returns a sentence that says where a person can answer if this client may not, or cannot. */
  readonly whereToAnswer: (sessionId: string) => string;
  readonly redact: (text: string) => string;
  readonly redactJson: (value: unknown) => unknown;
  /** Reports a request's error if the server is at fault. `isMistake` is true if the client is at fault. */
  readonly explainError: (error: unknown) => { readonly message: string; readonly isMistake: boolean };
};
