/**
 * `pawl trust`: shows what the folder brings, whole, and lets the person trust exactly that.
 */
import { PawlError } from "../../index.js";
import { realFolder } from "../drive-session.js";
import { exitCodes } from "../exit.js";
import { homeOf } from "../home.js";
import { listenForInterruptions } from "../interruptions.js";
import { promptLine } from "../prompt-line.js";
import type { Terminal } from "../terminal.js";
import { exact } from "../text.js";
import { describedFile, verdictOf } from "../trust/described.js";
import {
  type BroughtFile,
  type FolderTrust,
  folderTrust,
  noneOfThese,
  revokeTrust,
  trustFiles,
} from "../trust/trust.js";
import { userName } from "../user-name.js";

export type TrustOptions = {
  readonly root?: string;
  readonly show?: true;
  readonly revoke?: true;
  readonly hash?: string;
  readonly json?: true;
};

export async function trust(options: TrustOptions, terminal: Terminal): Promise<number> {
  const root = realFolder(options.root ?? ".");
  const home = homeOf(process.env);
  if (options.revoke === true) {
    revokeTrust(root, home);
    return tell(root, home, options, terminal);
  }
  const found = folderTrust(root, home);
  const open = found.files.filter(({ isTrusted }) => !isTrusted);
  if (options.show === true || open.length === 0) return tell(root, home, options, terminal);
  if (options.hash !== undefined) {
    if (options.hash !== found.hash)
      throw new PawlError(
        "bad_configuration",
        `What ${root} brings has the hash ${found.hash}, not the given one. Look at it with "pawl trust --show".`,
      );
    trustFiles(root, home, open, userName());
    return tell(root, home, options, terminal);
  }
  const chosen = await chosenOf(open, found, root, terminal);
  if (chosen.length > 0) trustFiles(root, home, chosen, userName());
  tell(root, home, options, terminal);
  return chosen.length === open.length ? exitCodes.done : exitCodes.usage;
}

function tell(root: string, home: string, { json }: TrustOptions, terminal: Terminal): number {
  const { files, hash } = folderTrust(root, home);
  if (json === true) {
    const shown = files.map(({ path, hash: own, isTrusted, effects }) => ({ path, hash: own, isTrusted, effects }));
    const all = files.length > 0 && files.every(({ isTrusted }) => isTrusted);
    terminal.json({ folder: root, isTrusted: all, ...(files.length === 0 ? {} : { hash, files: shown }) });
  } else if (files.length === 0) terminal.out(`${exact(root)} brings ${noneOfThese}: there is nothing to trust.\n`);
  else {
    for (const file of files) terminal.out(`${describedFile(file).join("\n")}\n${verdictOf(file)}\n`);
    terminal.out(`hash ${hash}\n`);
  }
  return exitCodes.done;
}

/** The files that the person trusts; each is asked about. */
async function chosenOf(
  open: readonly BroughtFile[],
  { hash }: FolderTrust,
  root: string,
  terminal: Terminal,
): Promise<readonly BroughtFile[]> {
  if (!terminal.isInteractive)
    throw new PawlError(
      "bad_configuration",
      `Nobody can be asked here whether to trust ${root}. Without a terminal: pawl trust --hash ${hash}`,
    );
  const chosen: BroughtFile[] = [];
  const interruptions = listenForInterruptions(terminal);
  for (const file of open) {
    terminal.err(`${describedFile(file).join("\n")}\n`);
    const line = await promptLine("Trust this file, as it is now? [y]es  [n]o > ", interruptions);
    if (line === null || line === undefined) break;
    if (/^\s*y(es)?\s*$/i.test(line)) chosen.push(file);
  }
  return chosen;
}
