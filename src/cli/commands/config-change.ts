/**
 * `pawl config set`, `unset` and `edit`: change `pawl.config.json`, yours or the folder's.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "../../index.js";
import { readConfigurationText, setValue, unsetValue, writeConfiguration } from "../configuration/change.js";
import { configurationName } from "../configuration/configuration.js";
import { formatSettingValue } from "../configuration/format-configuration.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { exitCodes } from "../exit.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { resolveHome } from "../files/store-location.js";
import { resolveProjectFolder } from "../permissions/project-folder.js";
import { editText, findEditor } from "../terminal/editor.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type ChangeOptions = {
  readonly root?: string;
  readonly folder?: true;
  readonly project?: true;
  readonly json?: true;
};

function resolveFile({ folder, project, root = "." }: ChangeOptions): string {
  if (folder === true && project === true)
    throw new PawlError("bad_input", "Give --folder or --project, not both: they name two files.");
  if (project === true)
    return join(resolveProjectFolder(resolveHome(process.env), resolveFolder(root)), configurationName);
  return join(folder === true ? resolveFolder(root) : resolveUserConfigurationFolder(process.env), configurationName);
}

const trustNote = "The folder's file has changed, so it is no longer trusted. Review and trust it: pawl trust\n";

export function set(key: string, value: string, options: ChangeOptions, terminal: Terminal): number {
  const path = resolveFile(options);
  const written = setValue(path, key, value);
  if (options.json === true) terminal.json({ key, value: written, path });
  else terminal.out(`${sanitize(`${key}  ${formatSettingValue(written)}  (${path})`)}\n`);
  if (options.folder === true) terminal.err(trustNote);
  return exitCodes.done;
}

/** Prints what applies without the setting, because another file may have it also. */
export function unset(key: string, options: ChangeOptions, terminal: Terminal): number {
  const path = resolveFile(options);
  unsetValue(path, key);
  const folders = { root: resolveFolder(options.root ?? "."), home: resolveHome(process.env) };
  const left = resolveConfiguration(folders).settings.find((setting) => setting.key === key);
  if (options.json === true) terminal.json({ key, path, value: left?.value ?? null, from: left?.from ?? null });
  else {
    const now = left === undefined ? "It has no value now." : `Now: ${formatSettingValue(left.value)} (${left.from})`;
    terminal.out(`${sanitize(`${key} is no longer set in ${path}. ${now}`)}\n`);
  }
  if (options.folder === true) terminal.err(trustNote);
  return exitCodes.done;
}

/** The initial content of a new file. */
const templateText = `{
  // "model": "anthropic/claude-sonnet-5-5",
  // "limits": { "maxCostUsd": 5 },
  "permissions": { "allow": [], "ask": [], "deny": [] }
}`;

/** Only a valid configuration is written. An invalid one is saved as a draft next to the file, for the next edit. */
export async function edit(options: ChangeOptions, terminal: Terminal): Promise<number> {
  const path = resolveFile(options);
  const draft = `${path}.draft`;
  const editor = findEditor(process.env);
  if (editor === undefined)
    throw new PawlError("bad_configuration", `No editor is set. Set VISUAL or EDITOR; the file is ${path}.`);
  const currentText = readConfigurationText(path);
  const draftText = existsSync(draft) ? readConfigurationText(draft) : null;
  const initialText = (draftText ?? currentText ?? templateText).replace(/\n$/, "");
  const text = await editText(editor, initialText, configurationName);
  if (text === null) throw new PawlError("bad_configuration", "The editor exited with an error. Nothing was changed.");
  const isUnchanged = draftText === null && text === `${initialText}\n`;
  if (!isUnchanged) writeOrSaveDraft(path, draft, text);
  if (options.json === true) terminal.json({ path, changed: !isUnchanged });
  else terminal.out(`${sanitize(isUnchanged ? "Nothing was changed." : `Wrote ${path}`)}\n`);
  if (!isUnchanged && options.folder === true) terminal.err(trustNote);
  return exitCodes.done;
}

function writeOrSaveDraft(path: string, draft: string, text: string): void {
  try {
    writeConfiguration(path, text);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    writeFileSync(draft, text, { mode: 0o600 });
    const message = `${error.message} The file is unchanged. Your text is in ${draft}: "pawl config edit" continues with it.`;
    throw new PawlError("bad_configuration", message, { cause: error });
  }
  rmSync(draft, { force: true });
}
