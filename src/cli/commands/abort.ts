/**
 * `pawl abort`: ends a run, even one in another process, and waits until it has ended.
 */
import type { RunResult } from "../../index.js";
import { createPassiveAgent } from "../agent/passive-agent.js";
import { isUnfinished } from "../agent/session-progress.js";
import { exitCodes } from "../exit.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { awaitOutcome } from "../run/run-on-terminal.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type AbortOptions = { readonly json?: true };

export async function abort(id: string, options: AbortOptions, terminal: Terminal): Promise<number> {
  const store = await openStore(resolveHome(process.env));
  try {
    const summary = await getSession(store, id);
    const { sessionId, info } = summary;
    const session = createPassiveAgent(store, info?.agent).session(sessionId);
    const wasInProgress = isUnfinished(summary);
    if (wasInProgress) await session.abort({ by: "pawl abort" });
    const result = wasInProgress ? await awaitOutcome(session) : await session.result();
    if (options.json === true) terminal.json({ sessionId, result });
    else terminal.out(formatMessage(sessionId, result, wasInProgress));
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

function formatMessage(sessionId: string, result: RunResult | null, wasInProgress: boolean): string {
  const id = sanitize(shortId(sessionId));
  const status = result?.status ?? "nothing ran";
  if (!wasInProgress) return `Session ${id} has no run in progress (${status}).\n`;
  return status === "aborted" ? `Aborted ${id}.\n` : `The run of ${id} had already ended (${status}).\n`;
}
