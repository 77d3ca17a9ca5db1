/**
 * The folder that a command works on.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { PawlError } from "../../index.js";

/** @throws PawlError `bad_configuration` if the folder does not exist */
export function resolveFolder(path: string): string {
  try {
    return realpathSync(resolve(path));
  } catch (cause) {
    throw new PawlError("bad_configuration", `There is no folder ${path}. Give an existing folder with --root.`, {
      cause,
    });
  }
}
