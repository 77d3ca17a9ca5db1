/**
 * `/rename`: the title of the session, which lists have.
 */
import { PawlError } from "../../index.js";
import { oneLine } from "../text.js";
import { userName } from "../user-name.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

export async function rename(context: CommandContext, title: string): Promise<void> {
  const { agent, store, sessionId, redaction, columns, say } = context;
  const info = (await store.describe(sessionId))?.info ?? null;
  if (info === null)
    throw new PawlError("no_session", "The session has not begun yet, so it has no title. Send a message first.");
  const shown = (text: string) => oneLine(redaction.text(text));
  if (title === "") {
    const present =
      info.title === undefined ? "This session has no title." : `This session is called: ${shown(info.title)}.`;
    return say(wrappedNote(`${present} To change it: /rename TITLE`, columns(), "dim"));
  }
  await agent.session(sessionId).rename(title, { by: userName() });
  say(wrappedNote(`This session is called from now on: ${shown(title)}`, columns(), "dim"));
}
