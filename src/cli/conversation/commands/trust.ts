/**
 * `/trust`: shows the files that the folder supplies and whether each is trusted; trusts them, or revokes the trust. Trust is
 * read when a talk begins, so a change begins a new talk with the same session.
 */
import { PawlError } from "../../../index.js";
import { lineOf } from "../../screen/line.js";
import { sanitizeStrictly } from "../../terminal/text.js";
import { describeFile, formatTrust } from "../../trust/describe-file.js";
import { nothingToTrustText, readFolderTrust, revokeTrust } from "../../trust/trust.js";
import { wrapNote } from "../lines/view-lines.js";
import { type CommandContext, restartTalk } from "./command-context.js";
import { askForTrust } from "./trust-question.js";

export async function runTrustCommand(context: CommandContext, words: string): Promise<void> {
  const { root, home, say, columns, redaction } = context;
  if (words !== "" && words !== "revoke")
    throw new PawlError("bad_input", "/trust takes nothing, or revoke, which ends all trust in the folder's files.");
  const { files } = readFolderTrust(root, home);
  if (files.length === 0)
    return say(
      wrapNote(`${sanitizeStrictly(root)} brings ${nothingToTrustText}: there is nothing to trust.`, columns(), "dim"),
    );
  if (words === "revoke") {
    revokeTrust(root, home);
    say([lineOf("Nothing in this folder is trusted any more.")]);
    return await restartTalk(context);
  }
  const trusted = files.filter(({ isTrusted }) => isTrusted);
  for (const file of trusted)
    say([
      ...describeFile(file, context.columns()).map((line) => lineOf(redaction.text(line))),
      lineOf(formatTrust(file), "green"),
    ]);
  const untrusted = files.filter(({ isTrusted }) => !isTrusted);
  if (untrusted.length === 0) return say([lineOf("To revoke the trust: /trust revoke", "dim")]);
  const isTrusted = await askForTrust({
    ...context,
    open: untrusted,
    control: context,
    front: context,
    terminal: context,
  });
  if (isTrusted) await restartTalk(context);
}
