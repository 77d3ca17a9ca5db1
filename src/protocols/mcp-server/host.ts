/**
 * Who serves agents to MCP clients.
 */
import type { Session, StreamItem } from "../../index.js";
import type { PostableSession } from "../run-cursors.js";

/** An agent, as a tool. */
export type McpAgent = { readonly name: string; readonly description: string };

/** The session that a call of an agent runs in. */
export type CalledSession = PostableSession & Pick<Session, "abort">;

export type McpHost = {
  readonly info: { readonly name: string; readonly version: string };
  /** Each agent is a tool. */
  readonly agents: readonly McpAgent[];
  /** Opens the session with this id, or a new one. It throws if the caller may not use it. */
  readonly openSession: (agent: string, sessionId: string | undefined) => Promise<CalledSession>;
  /** Sees to it that somebody carries the session on. @returns why nobody does; null if it ended, waits, or goes on */
  readonly carryOn: (session: CalledSession) => Promise<string | null>;
  readonly makeId: () => string;
  /** Who calls and answers. The log records it. */
  readonly by?: string;
  /** Whether the caller may answer calls that wait. Default: true. */
  readonly mayAnswer?: boolean;
  /**
   * Aborted when the process leaves, or may answer the request no longer. The run goes on, and the result of the call says
   * so. Default: never.
   */
  readonly leaving?: {
    readonly signal: AbortSignal;
    /** Tells where to read the result of the run. */
    readonly whereToRead: (sessionId: string, runId: string) => string;
  };
  /** Whether nobody hears of the call any more when its request has ended. Default: false. */
  readonly endsWithRequest?: boolean;
  /** Tells a person where to answer what this client cannot be asked. */
  readonly whereToAnswer: (sessionId: string) => string;
  /** Masks what may not be shown. Calls that a person is asked about are shown as they are. */
  readonly redaction?: {
    readonly text: (text: string) => string;
    readonly stream: () => (item: StreamItem) => readonly StreamItem[];
  };
  /** Takes what no answer can tell. */
  readonly report: (error: unknown) => void;
};
