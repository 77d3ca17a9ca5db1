/**
 * `pawl sessions delete`: deletes a session.
 */
import { deleteSession } from "../../index.js";
import { getSession, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { removeLog } from "../run/background-log.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { type JsonOption, withStore } from "./sessions.js";

export type RemoveOptions = JsonOption & { readonly force?: true };

export function remove(id: string, options: RemoveOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const { sessionId } = await getSession(store, id);
    await deleteSession(store, sessionId, { now: Date.now(), force: options.force === true });
    removeLog(resolveHome(process.env), sessionId);
    if (options.json === true) terminal.json({ deleted: sessionId });
    else terminal.out(`Deleted ${sanitize(shortId(sessionId))}.\n`);
  });
}
