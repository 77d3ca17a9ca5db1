/**
 * The folder that a command works on.
 */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { PawlError } from "../../index.js";

/** @throws PawlError `bad_configuration` if there is no such folder */
export function resolveFolder(path: string): string {
  let folder: string;
  try {
    folder = realpathSync(resolve(path));
  } catch (cause) {
    throw new PawlError("bad_configuration", `There is no folder ${path}. Give an existing folder with --root.`, {
      cause,
    });
  }
  if (!statSync(folder).isDirectory())
    throw new PawlError("bad_configuration", `${path} is not a folder. Give an existing folder with --root.`);
  return folder;
}
