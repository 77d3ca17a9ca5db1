/**
 * `/trust`: what the folder brings, and whether it counts; trusts it, or takes the trust away. What is trusted counts from
 * the beginning of a talk, so the talk begins anew with the same session.
 */
import { PawlError } from "../../index.js";
import { lineOf } from "../screen/line.js";
import { exact } from "../text.js";
import { describedFile, verdictOf } from "../trust/described.js";
import { folderTrust, noneOfThese, revokeTrust } from "../trust/trust.js";
import { beginAnew, type CommandContext } from "./session-commands.js";
import { asksForTrust } from "./trust-question.js";

export async function trust(context: CommandContext, words: string): Promise<void> {
  const { root, home, say, redaction } = context;
  if (words !== "" && words !== "revoke")
    throw new PawlError(
      "bad_input",
      "/trust takes nothing, or revoke: then nothing of the folder is trusted any more.",
    );
  const { files } = folderTrust(root, home);
  if (files.length === 0)
    return say([lineOf(`${exact(root)} brings ${noneOfThese}: there is nothing to trust.`, "dim")]);
  if (words === "revoke") {
    revokeTrust(root, home);
    say([lineOf("Nothing that this folder brings is trusted any more.")]);
    return await beginAnew(context);
  }
  const trusted = files.filter(({ isTrusted }) => isTrusted);
  for (const file of trusted)
    say([...describedFile(file).map((line) => lineOf(redaction.text(line))), lineOf(verdictOf(file), "green")]);
  const open = files.filter(({ isTrusted }) => !isTrusted);
  if (open.length === 0) return say([lineOf("To take the trust away: /trust revoke", "dim")]);
  const isTrusted = await asksForTrust({ ...context, open, control: context, front: context, terminal: context });
  if (isTrusted) await beginAnew(context);
}
