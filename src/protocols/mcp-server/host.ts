/**
 * Who serves agents to MCP clients.
 */
import type { Agent, StreamItem } from "../../index.js";

export type McpAgent = { readonly name: string; readonly description: string; readonly agent: Agent };

export type McpHost = {
  readonly info: { readonly name: string; readonly version: string };
  /** Each agent is a tool. */
  readonly agents: readonly McpAgent[];
  readonly makeId: () => string;
  /** Who calls and answers. The log records it. */
  readonly by?: string;
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
