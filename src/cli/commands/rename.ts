/**
 * `pawl sessions rename`: changes the title of a session, as `/rename` does in a conversation.
 *
 * A session at rest gets the title at once. If a run is in progress, the process that drives it sets the title. This command
 * must not continue that run, so if no process drives it, the title waits in the session's inbox.
 */
import { createClient } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { createPassiveAgent } from "../agent/passive-agent.js";
import { resolveUserName } from "../decisions/user-name.js";
import { getSession, shortId } from "../files/session-store.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize, toOneLine } from "../terminal/text.js";
import { type JsonOption, withStore } from "./sessions.js";

export function rename(id: string, words: readonly string[], options: JsonOption, terminal: Terminal): Promise<number> {
  const title = words.join(" ");
  return withStore(async (store) => {
    const { sessionId, info, activity, holder } = await getSession(store, id);
    const isAtRest = activity === "resting";
    const sessions = isAtRest ? createPassiveAgent(store, info?.agent) : createClient({ store });
    await sessions.session(sessionId).rename(title, { by: resolveUserName() });
    const waits = !isAtRest && (holder === null || isHolderDead(holder));
    const storedTitle = (isAtRest ? (await store.describe(sessionId))?.info?.title : undefined) ?? title;
    if (options.json === true)
      return terminal.json({ renamed: sessionId, title: storedTitle, ...(waits ? { waits } : {}) });
    const short = sanitize(shortId(sessionId));
    terminal.out(`${short} is now called: ${toOneLine(terminal.redaction.text(storedTitle))}\n`);
    if (waits)
      terminal.hint(`No process drives its run, so the title changes when the run continues: pawl resume ${short}\n`);
  });
}
