/**
 * A person's editor: what `VISUAL` or `EDITOR` names.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "./home.js";

/** The command line of the editor, as in EDITOR="code --wait"; undefined where there is none. */
export function editorOf({ VISUAL, EDITOR }: Environment): string | undefined {
  return VISUAL || EDITOR || undefined;
}

/** What the person made of a text; null where the editor failed or was left by an error (`:cq`). */
export function inEditor(editor: string, text: string): string | null {
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
