/**
 * The program that serves agents to MCP clients.
 */
import type { Message, Session, StreamItem } from "../../index.js";
import type { PostableSession } from "../run-cursors.js";

/** An agent that the server offers as a tool. */
export type McpAgent = { readonly name: string; readonly description: string };

/** The session in which a call to an agent runs. */
export type CalledSession = PostableSession & Pick<Session, "abort">;

export type McpHost = {
  readonly info: { readonly name: string; readonly version: string };
  /** The agents, each of which is a tool. */
  readonly agents: readonly McpAgent[];
  /** Opens the session with this id, or a new one. Throws if the caller may not use it. */
  readonly openSession: (agent: string, sessionId: string | undefined) => Promise<CalledSession>;
  /** Finds the session of a task. Null if it does not exist, or if the caller may not use it. */
  readonly findSession: (sessionId: string) => Promise<CalledSession | null>;
  /** The sessions that the caller can read as resources. Default: none. */
  readonly sessions?: {
    /** The ids that begin with this prefix, newest first. At most 100. */
    readonly list: (prefix: string) => Promise<readonly string[]>;
    /** Null if there is no such session, or if the caller may not read it. */
    readonly messages: (id: string) => Promise<readonly Message[] | null>;
  };
  /** Makes sure that a process drives the session. @returns why no process does; null if the run ended, waits, or continues */
  readonly carryOn: (session: CalledSession) => Promise<string | null>;
  readonly makeId: () => string;
  /** The caller, which the log records as the author of calls and answers. */
  readonly by?: string;
  /** Whether the caller may answer waiting calls. Default: true. */
  readonly mayAnswer?: boolean;
  /**
   * Aborted when the process shuts down, or may no longer respond to the request. The run continues, and the result of the call
   * says so. Default: never aborted.
   */
  readonly leaving?: {
    readonly signal: AbortSignal;
    /** Returns a sentence that says where to read the result of the run. */
    readonly whereToRead: (sessionId: string, runId: string) => string;
  };
  /** Whether the result of a call is undeliverable once its request has ended. Default: false. */
  readonly endsWithRequest?: boolean;
  /** Returns a sentence that says where a person can answer if this client cannot ask them. */
  readonly whereToAnswer: (sessionId: string) => string;
  /** Masks secrets. Calls that need a person's decision are shown unmasked. */
  readonly redaction?: {
    readonly text: (text: string) => string;
    readonly stream: () => (item: StreamItem) => readonly StreamItem[];
  };
  /** Reports a request's error if the server is at fault. @returns the message for the client, without internals or secrets */
  readonly explainError: (error: unknown) => string;
  /** Called with errors that cannot be part of a response. */
  readonly report: (error: unknown) => void;
};
