/**
 * A session that is open in an editor.
 */
import type { AgentContext, SessionUpdate } from "@agentclientprotocol/sdk";
import { type Agent, PawlError, type PendingApproval, type Session, type StreamItem } from "../../index.js";
import type { UpdateState } from "./updates.js";

/** The agent of a folder. */
export type AcpAgent = {
  readonly agent: Agent;
  /** The context window of its model in tokens. Without it, the editor is not told how full the window is. */
  readonly contextWindow?: number;
  /** Whether a call that asks runs without an answer by now, because a person has allowed its like for good. */
  readonly isAllowed?: (call: PendingApproval) => Promise<boolean>;
  /** The rules that would spare the person such a question. Without it, the editor offers none. */
  readonly rulesFor?: (call: PendingApproval, sessionId: string) => Promise<RuleChoices>;
};

export type RuleChoice = {
  /** What the rule allows, and where it is kept, in words. */
  readonly label: string;
  readonly keep: () => Promise<void>;
};

export type RuleChoices = {
  readonly choices: readonly RuleChoice[];
  /** What the person should know of the rules; or why there are none. */
  readonly notes: readonly string[];
};

/** A prompt that is open. */
export type Turn = {
  /** Its run and, before it, one that was left unfinished. */
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
  /** Takes an error that no request can be told. */
  readonly report: (error: unknown) => void;
  /** The prompts that are open, in their order. */
  readonly turns: Set<Turn>;
  /** Settles when the prompts so far have ended. */
  lastTurn: Promise<unknown>;
  /** The place in the log up to which the editor was told everything: `seq`, or `seq.index`. */
  shownCursor: number | string;
};

/** Aborts the runs of the prompts, the last one first. Each of the prompts ends with `cancelled`. */
export async function cancelTurns({ session, by }: OpenSession, turns: Iterable<Turn>): Promise<void> {
  const all = [...turns];
  for (const turn of all) turn.isCancelled = true;
  const options = { note: "cancelled in the editor", ...(by === undefined ? {} : { by }) };
  for (const runId of all.flatMap(({ runIds }) => runIds).reverse())
    await session.abort({ runId, ...options }).catch(ignoreUnknownSession);
}

/** A session whose first run is not in the log yet is unknown. */
function ignoreUnknownSession(error: unknown): void {
  if (!(error instanceof PawlError && error.code === "no_session")) throw error;
}

export function sendUpdate({ id: sessionId }: OpenSession, client: AgentContext, update: SessionUpdate): Promise<void> {
  return client.notify("session/update", { sessionId, update });
}
