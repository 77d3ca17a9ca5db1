/**
 * `/compact`: summarizes the conversation. The outcome is an event of the session, which the view shows.
 */

import { resolveUserName } from "../../decisions/user-name.js";
import { lineOf } from "../../screen/line.js";
import type { CommandContext } from "./command-context.js";

/** @param keep what the summary must preserve; may be empty */
export async function runCompactCommand(context: CommandContext, keep: string): Promise<void> {
  const { agent, store, sessionId, state, say, atWork } = context;
  if ((await store.describe(sessionId)) === null) return say([lineOf("There is nothing to summarize yet.", "dim")]);
  const session = agent.session(sessionId);
  const isAtRest = state().runId === null;
  if (!isAtRest) say([lineOf("The conversation will be summarized before the next model call.", "dim")]);
  const stop = () => void session.abort({ note: "stopped on the terminal", by: resolveUserName() }).catch(() => {});
  const endActivity = isAtRest ? atWork("summarizing", stop) : () => {};
  try {
    const outcome = await session.compact({ by: resolveUserName(), ...(keep === "" ? {} : { keep }) });
    if (outcome.type === "pending" && isAtRest)
      say([lineOf("The conversation will be summarized when the session continues.", "dim")]);
  } finally {
    endActivity();
  }
}
