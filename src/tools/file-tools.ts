/**
 * Tools for the files of one folder.
 */
import { aFunction, anArray, anyValue, checkOptions, type OptionTable } from "../check-options.js";
import type { AnyTool } from "../ports/tool.js";
import { defaultAccess } from "./files/folder.js";
import { createListFiles, createReadFile } from "./files/read-files.js";
import { createRoot, type MayReach } from "./files/root.js";
import { createEditFile, createWriteFile } from "./files/write-files.js";
import { createSearchFiles } from "./search/search-files.js";

/** The folder of the file tools, and the access rules. */
export type FileToolsOptions = {
  /** The folder. The tools read and write nothing outside it, not even through links. */
  readonly root: string;
  /**
   * Paths that are never written, including everything below them: absolute, or relative to the root. They need not exist. `.git`,
   * `.pawl`, `.mcp.json` and `pawl.config.*` are always protected, at any depth. Files with secrets, such as `.env`, are not.
   */
  readonly protect?: readonly string[];
  /**
   * Whether a file or folder may be read or written, by its real, absolute path. Called for each one, including every entry of a
   * listing or search, so it must be fast. Default: everything within the root.
   */
  readonly mayReach?: MayReach;
};

const optionRules: OptionTable<FileToolsOptions> = { root: anyValue, protect: anArray, mayReach: aFunction };

/**
 * Creates the tools `list_files`, `read_file` and `search_files`, which are read-only, and `write_file` and
 * `edit_file`.
 *
 * @throws PawlError `bad_configuration` if the root is not a folder
 *
 * @example
 * ```ts
 * import { createFileTools } from "pawl/tools";
 *
 * const agent = createAgent({
 *   model,
 *   tools: createFileTools({ root: "site", protect: ["package.json"] }),
 *   canExecuteTool: ({ tool }) => (tool.readOnly ? "allow" : "ask"),
 * });
 * ```
 */
export function createFileTools(options: FileToolsOptions): readonly AnyTool[] {
  checkOptions("createFileTools()", optionRules, options, { otherNames: { cwd: "root", folder: "root" } });
  const { root, protect, mayReach } = options;
  const fileRoot = createRoot(root, protect, defaultAccess, mayReach);
  return [
    createListFiles(fileRoot),
    createReadFile(fileRoot),
    createSearchFiles(fileRoot),
    createWriteFile(fileRoot),
    createEditFile(fileRoot),
  ];
}
