/**
 * The person's editor, from `VISUAL` or `EDITOR`.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../files/store-location.js";

/** The command line of the editor, as in EDITOR="code --wait"; undefined if neither variable is set. */
export function findEditor({ VISUAL, EDITOR }: Environment): string | undefined {
  return VISUAL || EDITOR || undefined;
}

/**
 * The process is not blocked while the editor is open: work continues, and leases are renewed.
 * @returns the edited text; null if the editor ends with an error, as after `:cq` in vi
 */
export async function editText(editor: string, text: string, name = "input.json"): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-edit-"));
  try {
    const file = join(folder, name);
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    const child = spawn(`${editor} "${file}"`, { stdio: "inherit", shell: true });
    const isDone = await new Promise<boolean>((resolve) => {
      child.once("error", () => resolve(false)).once("exit", (code) => resolve(code === 0));
    });
    return isDone ? readFileSync(file, "utf8") : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
