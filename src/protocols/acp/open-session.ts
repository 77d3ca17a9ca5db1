/**
 * A session that is open in an editor.
 */
import type { AgentContext, SessionUpdate } from "@agentclientprotocol/sdk";
import { type Agent, PawlError, type PendingApproval, type Session, type StreamItem } from "../../index.js";
import type { UpdateState } from "./updates.js";

/** The agent of a folder. */
export type AcpAgent = {
  readonly agent: Agent;
  /** The context window of its model in tokens. Without it, the editor does not get the usage of the window. */
  readonly contextWindow?: number;
  /** Whether a waiting call may now run without an answer, because a person has permanently allowed such calls. */
  readonly isAllowed?: (call: PendingApproval) => Promise<boolean>;
  /** Returns the rules that would avoid such a question in future. Without this function, the editor offers none. */
  readonly rulesFor?: (call: PendingApproval, sessionId: string) => Promise<RuleChoices>;
};

export type RuleChoice = {
  /** Human-readable: what the rule allows, and where it is stored. */
  readonly label: string;
  /** Saves the rule. */
  readonly keep: () => Promise<void>;
};

export type RuleChoices = {
  readonly choices: readonly RuleChoice[];
  /** Notes about the rules for the person, or the reason why there are none. */
  readonly notes: readonly string[];
};

/** An open prompt. */
export type Turn = {
  /** The prompt's run, preceded by an unfinished earlier run if there is one. */
  readonly runIds: string[];
  isCancelled: boolean;
};

export type OpenSession = {
  readonly id: string;
  readonly agent: AcpAgent;
  readonly session: Session;
  readonly updates: UpdateState;
  readonly by: string | undefined;
  readonly makeId: () => string;
  readonly redactText: (text: string) => string;
  readonly redactStream: () => (item: StreamItem) => readonly StreamItem[];
  /** Called with an error that cannot be the response to a request. */
  readonly report: (error: unknown) => void;
  /** The open prompts, in order. */
  readonly turns: Set<Turn>;
  /** Settles when all prompts so far have ended. */
  lastTurn: Promise<unknown>;
  /** The cursor up to which the editor has received everything: `seq`, or `seq.index`. */
  shownCursor: number | string;
};

/** Aborts the runs of the prompts, the last one first. Each prompt ends with `cancelled`. */
export async function cancelTurns({ session, by }: OpenSession, turns: Iterable<Turn>): Promise<void> {
  const all = [...turns];
  for (const turn of all) turn.isCancelled = true;
  const options = { note: "cancelled in the editor", ...(by === undefined ? {} : { by }) };
  for (const runId of all.flatMap(({ runIds }) => runIds).reverse())
    await session.abort({ runId, ...options }).catch(ignoreUnknownSession);
}

/** A session is unknown until its first run is in the log. */
function ignoreUnknownSession(error: unknown): void {
  if (!(error instanceof PawlError && error.code === "no_session")) throw error;
}

export function sendUpdate({ id: sessionId }: OpenSession, client: AgentContext, update: SessionUpdate): Promise<void> {
  return client.notify("session/update", { sessionId, update });
}
