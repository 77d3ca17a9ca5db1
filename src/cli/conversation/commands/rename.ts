/**
 * `/rename`: changes the title of the session, which lists show.
 */
import { PawlError } from "../../../index.js";
import { resolveUserName } from "../../decisions/user-name.js";
import { toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

export async function runRenameCommand(context: CommandContext, title: string): Promise<void> {
  const { agent, store, sessionId, redaction, columns, say } = context;
  const info = (await store.describe(sessionId))?.info ?? null;
  if (info === null)
    throw new PawlError("no_session", "The session has not begun yet, so it has no title. Send a message first.");
  const toShownText = (text: string) => toOneLine(redaction.text(text));
  if (title === "") {
    const currentText =
      info.title === undefined ? "This session has no title." : `This session is called: ${toShownText(info.title)}.`;
    return say(wrapNote(`${currentText} To change it: /rename TITLE`, columns(), "dim"));
  }
  await agent.session(sessionId).rename(title, { by: resolveUserName() });
  say(wrapNote(`This session is now called: ${toShownText(title)}`, columns(), "dim"));
}
