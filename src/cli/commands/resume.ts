/**
 * `pawl resume`: carries on what was interrupted, answers what waits, or follows what another process does.
 */
import { isOwnerDead, PawlError, type SessionSummary, type Store } from "../../index.js";
import { outcomeOf } from "../conversation.js";
import { getSession, shortId } from "../home.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";
import { type WorkOptions, withWork } from "../work.js";

/** What was allowed when the run began is not allowed again by itself: permissions belong to who is there. */
export async function resume(id: string, options: WorkOptions, terminal: Terminal): Promise<number> {
  return withWork(options, terminal, async ({ store, begin }) => {
    const summary = await getSession(store, id);
    const { sessionId, info, holder } = summary;
    await checkUnfinished(store, summary);
    if (info?.root === undefined)
      throw new PawlError(
        "bad_input",
        `Session ${shortId(sessionId)} belongs to no folder: it was not begun by pawl run.`,
      );
    const title = info.title === undefined ? "" : `: ${visible(info.title)}`;
    terminal.err(`${terminal.paint("dim", `Resuming ${visible(shortId(sessionId))}${title}`)}\n`);
    if (holder !== null && !isOwnerDead(holder))
      terminal.err(
        `Process ${holder.pid} is at work on it: following. Ctrl-C leaves it alone, pawl abort ${visible(shortId(sessionId))} ends it.\n`,
      );
    const target = { sessionId, root: info.root, after: summary.seq, lastModel: info.model };
    return begin(target, (_agent, _canAsk, session) => outcomeOf(session));
  });
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
