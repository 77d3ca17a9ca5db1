/**
 * Asks a person to log in to a server, within a call that cannot go on before. The question outlives this process.
 */
import type { ToolContext } from "../../../ports/tool.js";

/** @throws Error if the person declines, or does not log in in time */
export async function askForLogin(
  peer: string,
  page: string,
  name: string,
  {
    context,
    answerTimeoutMs,
  }: { readonly context: Pick<ToolContext, "ask">; readonly answerTimeoutMs: number | undefined },
): Promise<void> {
  const expires = answerTimeoutMs === undefined ? {} : { expiresInMs: answerTimeoutMs };
  const message = `${peer} requires a login. Log in on the page, and then confirm.`;
  const answer = await context.ask({ message, url: page, name, ...expires });
  if (answer.type !== "answered") throw new Error(`${peer} requires a login, and nobody logged in.`);
}
