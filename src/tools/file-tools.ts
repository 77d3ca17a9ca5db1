/**
 * Tools for the files of one folder.
 */
import { aList, anything, checkOptions, type OptionTable } from "../check-options.js";
import type { AnyTool } from "../ports/tool.js";
import { createListFiles, createReadFile } from "./read-files.js";
import { createRoot } from "./root.js";
import { createSearchFiles } from "./search-files.js";
import { createEditFile, createWriteFile } from "./write-files.js";

export type FileToolsOptions = {
  /** The tools read and write nothing outside this folder, also not through links. */
  readonly root: string;
  /**
   * Paths that are never written, nor anything below them: absolute, or relative to the root. They need not exist.
   * `.git`, `.pawl` and `pawl.config.*` are always protected, at any depth. Files with secrets, such as `.env`, are
   * not.
   */
  readonly protect?: readonly string[];
};

const optionRules: OptionTable<FileToolsOptions> = { root: anything, protect: aList };

/**
 * Creates the tools `list_files`, `read_file` and `search_files`, which are read-only, and `write_file` and
 * `edit_file`.
 *
 * @throws PawlError `bad_configuration` if the root is not a folder
 */
export function createFileTools(options: FileToolsOptions): readonly AnyTool[] {
  checkOptions("createFileTools()", optionRules, options, { otherNames: { cwd: "root", folder: "root" } });
  const { root, protect } = options;
  const opened = createRoot(root, protect);
  return [
    createListFiles(opened),
    createReadFile(opened),
    createSearchFiles(opened),
    createWriteFile(opened),
    createEditFile(opened),
  ];
}
