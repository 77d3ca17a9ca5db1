/**
 * `pawl hooks` lists the hooks in files. `pawl hooks import` copies hooks from the settings of Claude Code.
 *
 * Nothing is copied that the person has not seen. The hooks of a folder still run only once its file is trusted.
 */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { getErrorMessage } from "../../core/data/error-message.js";
import { parseJson } from "../../core/index.js";
import { PawlError } from "../../index.js";
import { replaceFile } from "../configuration/change.js";
import { exitCodes } from "../exit.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { decodeText, readFolderFile, resolveInFolder } from "../files/folder-file.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { readSmallText } from "../files/small-file.js";
import { resolveHome } from "../files/store-location.js";
import {
  folderHooksName,
  type HooksFile,
  parseHooks,
  readFolderHooks,
  readUserHooks,
  userHooksName,
} from "../hooks/hooks-file.js";
import { addHooks, type ImportedHook, type ImportPlan, planImport } from "../hooks/import-hooks.js";
import { formatHook, listHooks, toHookRecord } from "../hooks/resolve-hooks.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import { isYes, promptLine } from "../terminal/prompt-line.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize, toOneLine } from "../terminal/text.js";
import { readFolderTrust } from "../trust/trust.js";

export type HooksOptions = { readonly root?: string; readonly json?: true };

export function list({ root: given = ".", json }: HooksOptions, terminal: Terminal): number {
  const hooks = listHooks(readFolderTrust(resolveFolder(given), resolveHome(process.env)));
  if (hooks.length === 0 && json !== true)
    terminal.out("There are no hooks. To copy those of Claude Code: pawl hooks import\n");
  for (const hook of hooks) {
    if (json === true) terminal.json(toHookRecord(hook));
    else terminal.out(`${sanitize(formatHook(hook).replace(/^hook {2}/, ""))}\n`);
  }
  return exitCodes.done;
}

/** Settings with hooks, and the file into which they are copied. */
type Source = {
  readonly path: string;
  readonly text: string;
  readonly targetPath: string;
  readonly target: HooksFile | null;
  /** Whether the hooks are those of the folder, which need trust. */
  readonly isFolder: boolean;
};

const settingsName = ".claude/settings.json";
const maxSettingsBytes = 256 * 1024;

/** Asks about the folder's settings, then about the person's own. */
export async function importHooks({ root: given = "." }: HooksOptions, terminal: Terminal): Promise<number> {
  const root = resolveFolder(given);
  const sources = [readFolderSource(root), readUserSource(root)].flatMap((source) => (source === null ? [] : [source]));
  if (sources.length === 0)
    terminal.out(`${toOneLine(`There is no ${settingsName} in ${root} or in your home: there is nothing to copy.`)}\n`);
  let hasDeclined = false;
  for (const source of sources) if (!(await importSource(source, root, terminal))) hasDeclined = true;
  return hasDeclined ? exitCodes.usage : exitCodes.done;
}

function readFolderSource(root: string): Source | null {
  const path = join(root, settingsName);
  const found = readFolderFile(root, settingsName, maxSettingsBytes);
  if (found.type === "missing") return null;
  const text = found.type === "file" ? decodeText(found.bytes) : null;
  if (text === null) throw createSourceError(path, found.type === "refused" ? found.why : "it is not UTF-8 text");
  return { path, text, targetPath: join(root, folderHooksName), target: readFolderHooks(root), isFolder: true };
}

function readUserSource(root: string): Source | null {
  const path = join(homedir(), settingsName);
  if (resolve(root) === resolve(homedir())) return null;
  const text = readSmallText(path, maxSettingsBytes, (why) => createSourceError(path, why));
  if (text === null) return null;
  const configuration = resolveUserConfigurationFolder(process.env);
  const target = readUserHooks(configuration);
  return { path, text, targetPath: join(configuration, userHooksName), target, isFolder: false };
}

function createSourceError(path: string, why: string): PawlError {
  return new PawlError("bad_configuration", `The hooks of ${path} cannot be copied: ${why}.`);
}

/** @returns false if the person did not want the hooks */
async function importSource(source: Source, root: string, terminal: Terminal): Promise<boolean> {
  const plan = createPlan(source);
  terminal.out(describePlan(source, plan));
  const { copied } = plan;
  if (copied.length === 0) return true;
  const text = addHooks(source.target, copied);
  // A file that could not be read would turn all its hooks off.
  parseHooks(source.targetPath, text);
  const question = `Copy ${formatCount(copied.length, "hook")}? [y]es  [n]o > `;
  if (!terminal.isInteractive)
    throw new PawlError("bad_configuration", "Without a terminal, pawl cannot ask whether to copy these hooks.");
  const line = await promptLine(question, listenForInterruptions(terminal));
  if (line === null || !isYes(line)) return false;
  if (source.isFolder) checkFolderTarget(root);
  const current = source.isFolder ? readFolderHooks(root) : readUserHooks(resolveUserConfigurationFolder(process.env));
  if (current?.text !== source.target?.text)
    throw new PawlError(
      "bad_configuration",
      `${source.targetPath} has changed while the question was open, so nothing was copied to it. Run this again: pawl hooks import`,
    );
  replaceFile(source.targetPath, text);
  const next = source.isFolder ? " They run once you have trusted the file: pawl trust" : "";
  terminal.out(`${toOneLine(`Copied ${formatCount(copied.length, "hook")} to ${source.targetPath}.${next}`)}\n`);
  return true;
}

function createPlan({ path, text, target }: Source): ImportPlan {
  try {
    return planImport(text, target?.hooks ?? []);
  } catch (error) {
    throw createSourceError(path, getErrorMessage(error));
  }
}

/** A link could lead to the person's own hooks, which run without trust. */
function checkFolderTarget(root: string): void {
  for (const name of [".pawl", folderHooksName]) {
    const found = resolveInFolder(root, name);
    if (found.type === "refused")
      throw new PawlError("bad_configuration", `${join(root, name)} cannot be written: ${found.why}.`);
  }
}

function describePlan(
  { path, targetPath, target: present }: Source,
  { copied, refused, presentCount }: ImportPlan,
): string {
  const format = ({ event, matcher, command, otherMembers }: ImportedHook) =>
    `  ${[event, matcher, command, otherMembers]
      .map(toOneLine)
      .filter((part) => part !== "")
      .join("  ")}`;
  const target = toOneLine(targetPath);
  return [
    `Hooks of ${toOneLine(path)}:`,
    ...(copied.length === 0 ? ["No hook is new."] : [`To be copied to ${target}:`, ...copied.map(format)]),
    ...(copied.length === 0 || present === null || parseJson(present.text).ok
      ? []
      : [`The comments of ${target} will be lost.`]),
    ...(presentCount === 0 ? [] : [`${formatCount(presentCount, "hook")} of them already in ${target}.`]),
    ...(refused.length === 0
      ? []
      : ["Cannot be copied:", ...refused.map((hook) => `${format(hook)}\n    ${toOneLine(hook.why)}`)]),
    "",
  ].join("\n");
}
