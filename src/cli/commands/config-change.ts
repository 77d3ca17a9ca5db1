/**
 * `pawl config set` and `pawl config edit`: change `pawl.config.json`, yours or the folder's.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "../../index.js";
import { configurationText, setValue, writeConfiguration } from "../configuration/change.js";
import { configurationName } from "../configuration/configuration.js";
import { shownValue } from "../configuration/shown.js";
import { configurationOf } from "../configuration-folder.js";
import { realFolder } from "../drive-session.js";
import { editorOf, editText } from "../editor.js";
import { exitCodes } from "../exit.js";
import { homeOf } from "../home.js";
import { projectFolder } from "../permissions/project.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

export type ChangeOptions = {
  readonly root?: string;
  readonly folder?: true;
  readonly project?: true;
  readonly json?: true;
};

function fileOf({ folder, project, root = "." }: ChangeOptions): string {
  if (folder === true && project === true)
    throw new PawlError("bad_input", "Give --folder or --project, not both: they name two files.");
  if (project === true) return join(projectFolder(homeOf(process.env), realFolder(root)), configurationName);
  return join(folder === true ? realFolder(root) : configurationOf(process.env), configurationName);
}

const trustNote = "A changed file of a folder is not trusted. Look at it and trust it: pawl trust\n";

export function set(key: string, value: string, options: ChangeOptions, terminal: Terminal): number {
  const path = fileOf(options);
  const written = setValue(path, key, value);
  if (options.json === true) terminal.json({ key, value: written, path });
  else terminal.out(`${visible(`${key}  ${shownValue(written)}  (${path})`)}\n`);
  if (options.folder === true) terminal.err(trustNote);
  return exitCodes.done;
}

/** What a person begins with who has no file yet. */
const firstText = `{
  // "model": "anthropic/claude-sonnet-5-5",
  // "limits": { "maxCostUsd": 5 },
  "permissions": { "allow": [], "ask": [], "deny": [] }
}`;

/** The text that is written is one that can be used. Another one is kept beside the file, for the next edit. */
export async function edit(options: ChangeOptions, terminal: Terminal): Promise<number> {
  const path = fileOf(options);
  const draft = `${path}.draft`;
  const editor = editorOf(process.env);
  if (editor === undefined)
    throw new PawlError("bad_configuration", `No editor is set. Set VISUAL or EDITOR; the file is ${path}.`);
  const present = configurationText(path);
  const begun = existsSync(draft) ? configurationText(draft) : null;
  const before = (begun ?? present ?? firstText).replace(/\n$/, "");
  const text = await editText(editor, before, configurationName);
  if (text === null) throw new PawlError("bad_configuration", "The editor ended with an error. Nothing was changed.");
  const isSame = begun === null && text === `${before}\n`;
  if (!isSame) writeOrKeep(path, draft, text);
  if (options.json === true) terminal.json({ path, changed: !isSame });
  else terminal.out(`${visible(isSame ? "Nothing was changed." : `Wrote ${path}`)}\n`);
  if (!isSame && options.folder === true) terminal.err(trustNote);
  return exitCodes.done;
}

function writeOrKeep(path: string, draft: string, text: string): void {
  try {
    writeConfiguration(path, text);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    writeFileSync(draft, text, { mode: 0o600 });
    const message = `${error.message} The file is as it was. Your text is in ${draft}: "pawl config edit" goes on with it.`;
    throw new PawlError("bad_configuration", message, { cause: error });
  }
  rmSync(draft, { force: true });
}
