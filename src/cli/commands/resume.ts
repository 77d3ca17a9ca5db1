/**
 * `pawl resume`: carries on what was interrupted, answers what waits, or follows what another process does.
 */
import { isHolderDead, PawlError, type SessionSummary, type Store } from "../../index.js";
import { type WorkOptions, withWork } from "../drive-session.js";
import { agentName, checkShell } from "../folder-agent.js";
import { getSession, shortId } from "../home.js";
import { outcomeOf } from "../run-on-terminal.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

/** What was allowed when the run began is not allowed again by itself: permissions belong to who is there. */
export async function resume(id: string, options: WorkOptions, terminal: Terminal): Promise<number> {
  return withWork(options, terminal, async ({ store, begin }) => {
    const summary = await getSession(store, id);
    const { sessionId, info, seq, holder } = summary;
    await checkUnfinished(store, summary);
    if (info?.agent !== agentName || info.root === undefined) throw notOurs(summary);
    checkShell((await store.load(sessionId))?.state, sessionId, options.allowShell === true);
    const short = visible(shortId(sessionId));
    const title = info.title === undefined ? "" : `: ${visible(terminal.redaction.text(info.title))}`;
    terminal.err(`${terminal.paint("dim", `Resuming ${short}${title}`)}\n`);
    return begin({ sessionId, root: info.root, after: seq, lastModel: info.model }, (_agent, _canAsk, session) => {
      if (holder !== null && !isHolderDead(holder))
        terminal.err(
          `Process ${holder.pid} is at work on it: following. Ctrl-C leaves it alone, pawl abort ${short} ends it.\n`,
        );
      return outcomeOf(session);
    });
  });
}

function notOurs({ sessionId, info }: SessionSummary): PawlError {
  return new PawlError(
    "agent_mismatch",
    `Session ${shortId(sessionId)} was not begun by pawl run${info === null ? "" : ` but by the agent "${info.agent}"`}. Carry it on with the program that it belongs to.`,
  );
}

async function checkUnfinished(store: Store, { sessionId, activity, inbox, status }: SessionSummary): Promise<void> {
  if (activity !== "resting" || inbox > 0) return;
  const queued = (await store.load(sessionId))?.state.queue.some((one) => one.kind === "run") ?? false;
  if (queued) return;
  const id = shortId(sessionId);
  throw new PawlError(
    "run_finished",
    `The last run of session ${id} has ended (${status}): there is nothing to resume. To go on with it: pawl run --session ${id} "…"`,
  );
}
