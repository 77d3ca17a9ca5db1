/**
 * `pawl trust`: shows every file that the folder supplies in full, and lets the person trust exactly those.
 */
import { PawlError } from "../../index.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { resolveHome } from "../files/store-location.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import { isYes, promptLine } from "../terminal/prompt-line.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitizeStrictly } from "../terminal/text.js";
import { describeFile, formatTrust } from "../trust/describe-file.js";
import {
  canSandboxServers,
  type FolderTrust,
  nothingToTrustText,
  readFolderTrust,
  revokeTrust,
  type SuppliedFile,
  trustFiles,
} from "../trust/trust.js";

export type TrustOptions = {
  readonly root?: string;
  readonly show?: true;
  readonly revoke?: true;
  readonly hash?: string;
  readonly sandbox?: true;
  readonly json?: true;
};

export async function trust(options: TrustOptions, terminal: Terminal): Promise<number> {
  const root = resolveFolder(options.root ?? ".");
  const home = resolveHome(process.env);
  if (options.revoke === true) {
    revokeTrust(root, home);
    return reportTrust(root, home, options, terminal);
  }
  const folderTrustNow = readFolderTrust(root, home);
  const untrusted = folderTrustNow.files.filter(({ isTrusted }) => !isTrusted);
  if (options.show === true || untrusted.length === 0) return reportTrust(root, home, options, terminal);
  if (options.hash !== undefined) {
    if (options.hash !== folderTrustNow.hash)
      throw new PawlError(
        "bad_configuration",
        `The files of ${root} have the hash ${folderTrustNow.hash}, not the given one. Review them with "pawl trust --show".`,
      );
    trustFiles(root, home, untrusted, resolveUserName(), options.sandbox);
    return reportTrust(root, home, options, terminal);
  }
  const chosen = await askWhichToTrust(untrusted, folderTrustNow, root, terminal);
  for (const { file, inSandbox } of chosen)
    trustFiles(root, home, [file], resolveUserName(), inSandbox || options.sandbox === true);
  reportTrust(root, home, options, terminal);
  return chosen.length === untrusted.length ? exitCodes.done : exitCodes.usage;
}

function reportTrust(root: string, home: string, { json }: TrustOptions, terminal: Terminal): number {
  const { files, hash } = readFolderTrust(root, home);
  if (json === true) {
    const shown = files.map(({ path, hash: fileHash, isTrusted, inSandbox, effects }) => ({
      path,
      hash: fileHash,
      isTrusted,
      ...(inSandbox ? { inSandbox } : {}),
      effects,
    }));
    const all = files.length > 0 && files.every(({ isTrusted }) => isTrusted);
    terminal.json({ folder: root, isTrusted: all, ...(files.length === 0 ? {} : { hash, files: shown }) });
  } else if (files.length === 0)
    terminal.out(`${sanitizeStrictly(root)} has ${nothingToTrustText}: there is nothing to trust.\n`);
  else {
    for (const file of files) terminal.out(`${describeFile(file).join("\n")}\n${formatTrust(file)}\n`);
    terminal.out(`hash ${hash}\n`);
  }
  return exitCodes.done;
}

type Choice = { readonly file: SuppliedFile; readonly inSandbox: boolean };

/** Asks about each file, and returns those that the person trusts. */
async function askWhichToTrust(
  untrusted: readonly SuppliedFile[],
  { hash }: FolderTrust,
  root: string,
  terminal: Terminal,
): Promise<readonly Choice[]> {
  if (!terminal.isInteractive)
    throw new PawlError(
      "bad_configuration",
      `Without a terminal, pawl cannot ask whether to trust ${root}. To trust these files: pawl trust --hash ${hash}`,
    );
  const chosen: Choice[] = [];
  const interruptions = listenForInterruptions(terminal);
  for (const file of untrusted) {
    terminal.err(`${describeFile(file).join("\n")}\n`);
    const answers = canSandboxServers(file)
      ? "[s]andbox: yes, with its servers in the sandbox  [y]es  [n]o"
      : "[y]es  [n]o";
    const line = await promptLine(`Trust this file, as it is now? ${answers} > `, interruptions);
    if (line === null || line === undefined) break;
    const inSandbox = canSandboxServers(file) && /^\s*s(andbox)?\s*$/i.test(line);
    if (inSandbox || isYes(line)) chosen.push({ file, inSandbox });
  }
  return chosen;
}
