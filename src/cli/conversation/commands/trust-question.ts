/**
 * At the start of a conversation, asks whether to trust the files that the folder supplies. The first choice trusts nothing,
 * because a key that was meant for the first message must not trust a file.
 */

import { resolveUserName } from "../../decisions/user-name.js";
import { type Line, lineOf } from "../../screen/line.js";
import type { Terminal } from "../../terminal/terminal.js";
import { sanitizeStrictly } from "../../terminal/text.js";
import { describeFile } from "../../trust/describe-file.js";
import { canSandboxServers, type SuppliedFile, trustFiles } from "../../trust/trust.js";
import type { Front } from "../fronts/front.js";
import { wrapNote } from "../lines/view-lines.js";
import type { SessionControl } from "../session-control.js";

export type TrustQuestion = {
  readonly open: readonly SuppliedFile[];
  readonly root: string;
  readonly home: string;
  readonly control: Pick<SessionControl, "say">;
  readonly front: Pick<Front, "choose" | "columns">;
  readonly terminal: Pick<Terminal, "redaction">;
};

/** Shows each file in full, with its effects, and asks. @returns whether a file was trusted */
export async function askForTrust(question: TrustQuestion): Promise<boolean> {
  const { open, root, home, control, front, terminal } = question;
  control.say([
    ...wrapNote("This folder has files that need your trust before they are used:", front.columns(), "yellow"),
    ...open.flatMap((file) =>
      describeFile(file, front.columns() - 3).map((line): Line => lineOf(`  ${terminal.redaction.text(line)}`)),
    ),
  ]);
  const trust = open.length === 1 ? "trust it" : "trust all of it";
  const chosen = await front.choose("trust", [
    { id: "none", text: "not now: continue without it" },
    ...listChoices("all", `${trust}, exactly as it is now`, open.some(canSandboxServers)),
    ...(open.length === 1
      ? []
      : open.flatMap((file) =>
          listChoices(`file ${file.name}`, `trust only ${sanitizeStrictly(file.name)}`, canSandboxServers(file)),
        )),
  ]);
  const [id, inSandbox] = chosen?.endsWith(sandboxMark)
    ? [chosen.slice(0, -sandboxMark.length), true]
    : [chosen, false];
  const files = open.filter(({ name }) => id === "all" || id === `file ${name}`);
  if (files.length === 0) {
    control.say(wrapNote("Not trusted, so it is off. To review it later: /trust", front.columns(), "dim"));
    return false;
  }
  trustFiles(root, home, files, resolveUserName(), inSandbox);
  return true;
}

const sandboxMark = " in the sandbox";

/** The choices for `text`. If MCP servers can run in the sandbox, that choice comes first. */
function listChoices(id: string, text: string, canSandbox: boolean): readonly { id: string; text: string }[] {
  if (!canSandbox) return [{ id, text }];
  return [
    { id: `${id}${sandboxMark}`, text: `${text}, with its MCP servers in the sandbox` },
    { id, text: `${text}, with its MCP servers outside of the sandbox` },
  ];
}
