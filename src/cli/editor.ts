/**
 * The person's editor, which `VISUAL` or `EDITOR` names.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "./home.js";

/** The command line of the editor, as in EDITOR="code --wait"; undefined if neither variable is set. */
export function editorOf({ VISUAL, EDITOR }: Environment): string | undefined {
  return VISUAL || EDITOR || undefined;
}

/** @returns the edited text; null if the editor ends with an error, as after `:cq` in vi */
export function editText(editor: string, text: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), "pawl-edit-"));
  try {
    const file = join(folder, "input.json");
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    const { status } = spawnSync(`${editor} "${file}"`, { stdio: "inherit", shell: true });
    return status === 0 ? readFileSync(file, "utf8") : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
