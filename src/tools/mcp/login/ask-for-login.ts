/**
 * Asks a person to log in to a server, within a call that cannot continue without the login. The question outlives this process.
 */
import { PawlError } from "../../../errors.js";
import type { ToolContext } from "../../../ports/tool.js";
import type { LoginPage } from "./remote-login.js";

/** @throws PawlError `login_needed` if the person declines, or does not log in before the question or the login page expires */
export async function askForLogin(
  peer: string,
  { page, expiresAt = Number.POSITIVE_INFINITY }: LoginPage,
  name: string,
  {
    context,
    answerTimeoutMs = Number.POSITIVE_INFINITY,
  }: { readonly context: Pick<ToolContext, "ask">; readonly answerTimeoutMs: number | undefined },
): Promise<void> {
  const expiresInMs = Math.min(answerTimeoutMs, Math.max(1, expiresAt - Date.now()));
  const expires = Number.isFinite(expiresInMs) ? { expiresInMs } : {};
  const message = `${peer} requires a login. Log in on the page, and then confirm.`;
  const answer = await context.ask({ message, url: page, name, ...expires });
  if (answer.type !== "answered")
    throw new PawlError("login_needed", `${peer} requires a login, and nobody logged in.`);
}
