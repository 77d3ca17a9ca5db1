/**
 * `pawl sessions rename`: gives a session another title, as `/rename` does in a conversation.
 *
 * A session at rest has it at once. One with a run under way gets it from the process that drives the run; nothing here may
 * carry that run on, so without such a process the title waits in the session's inbox.
 */
import { createClient, isHolderDead } from "../../index.js";
import { createKeeperAgent } from "../folder-agent.js";
import { getSession, shortId } from "../home.js";
import type { Terminal } from "../terminal.js";
import { oneLine, visible } from "../text.js";
import { userName } from "../user-name.js";
import { type JsonOption, withStore } from "./sessions.js";

export function rename(id: string, words: readonly string[], options: JsonOption, terminal: Terminal): Promise<number> {
  const title = words.join(" ");
  return withStore(async (store) => {
    const { sessionId, info, activity, holder } = await getSession(store, id);
    const isAtRest = activity === "resting";
    const sessions = isAtRest ? createKeeperAgent(store, info?.agent) : createClient({ store });
    await sessions.session(sessionId).rename(title, { by: userName() });
    const waits = !isAtRest && (holder === null || isHolderDead(holder));
    const given = (isAtRest ? (await store.describe(sessionId))?.info?.title : undefined) ?? title;
    if (options.json === true) return terminal.json({ renamed: sessionId, title: given, ...(waits ? { waits } : {}) });
    const short = visible(shortId(sessionId));
    terminal.out(`${short} is called from now on: ${oneLine(terminal.redaction.text(given))}\n`);
    if (waits)
      terminal.err(`No process drives its run, so lists have the title when it goes on: pawl resume ${short}\n`);
  });
}
