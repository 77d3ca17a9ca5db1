/**
 * The program that serves an agent to A2A clients.
 */
import type { ClientSession } from "../../index.js";
import type { PostableSession } from "../run-cursors.js";

/** The session of a context. */
export type A2aSession = PostableSession & Pick<ClientSession, "abort" | "hasAnswerFrom">;

export type A2aHost = {
  /**
   * Opens the session of a context, or the session that this message begins: always the same one for the same message. It throws
   * if the caller may not use it.
   */
  readonly openSession: (contextId: string | undefined, messageId: string) => Promise<A2aSession>;
  /** Finds the session of a task. Null if there is none, or if the caller may not use it. */
  readonly findSession: (sessionId: string) => Promise<A2aSession | null>;
  /** Who calls and answers. The log records it. */
  readonly by: string;
  /** Whether the caller may answer waiting calls. */
  readonly mayAnswer: boolean;
  /** Aborted when the response must be sent, or can no longer be delivered. The run continues. */
  readonly signal: AbortSignal;
  /** A sentence that says where a person can answer if this client may not, or cannot. */
  readonly whereToAnswer: (sessionId: string) => string;
  readonly redact: (text: string) => string;
  readonly redactJson: (value: unknown) => unknown;
  /** Reports an error of a request if it is a failure. `isMistake`: the client can do better. */
  readonly explainError: (error: unknown) => { readonly message: string; readonly isMistake: boolean };
};
