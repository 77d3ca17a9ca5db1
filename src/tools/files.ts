/**
 * Tools for the files of one folder.
 */
import type { AnyTool } from "../ports/tool.js";
import { createListFiles, createReadFile } from "./read-files.js";
import { createRoot } from "./root.js";
import { createSearchFiles } from "./search-files.js";
import { createEditFile, createTurns, createWriteFile } from "./write-files.js";

export type FileToolsOptions = {
  /** The folder. Nothing outside it is read or written, also not through links. */
  readonly root: string;
  /**
   * Paths that are never written, with all that is under them, from the root or absolute; they need not exist. `.git`, `.pawl` and `pawl.config.*`
   * are always among them, at any depth; files of secrets such as `.env` are not.
   */
  readonly protect?: readonly string[];
};

/**
 * `list_files`, `read_file`, `search_files` (read-only), `write_file` and `edit_file`.
 *
 * @throws PawlError `bad_configuration` where the root is no folder.
 */
export function createFileTools({ root, protect }: FileToolsOptions): readonly AnyTool[] {
  const opened = createRoot(root, protect);
  const inTurn = createTurns();
  return [
    createListFiles(opened),
    createReadFile(opened),
    createSearchFiles(opened),
    createWriteFile(opened, inTurn),
    createEditFile(opened, inTurn),
  ];
}
