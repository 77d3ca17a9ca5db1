/**
 * The scripts that hooks of the folder run. Trust covers their bytes, and their text is shown.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { decodeText } from "../files/folder-file.js";
import { readSmallFile } from "../files/small-file.js";
import { folderScriptsName, type HooksFile, replaceRootVariables } from "../hooks/hooks-file.js";
import { hashFile, listFilesBelow, listFilesOfLine } from "./started-files.js";

export type HookScript = {
  /** Relative to the folder. */
  readonly path: string;
  readonly hash: string;
  /** Null if the file is not text, or too large to show. */
  readonly text: string | null;
};

/** The maximum size of a script whose text is shown and stored, and of all of them together. */
const maxShownBytes = 64 * 1024;
const maxShownBytesInAll = 512 * 1024;

/** The files of the folder that the hooks name, and all files in the folder of their scripts. */
export function readHookScripts({ hooks }: HooksFile, root: string): readonly HookScript[] {
  const named = hooks.flatMap(({ command }) => listFilesOfLine(replaceRootVariables(command), root));
  const paths = [...new Set([...named, ...listFilesBelow(root, folderScriptsName)])].sort();
  let left = maxShownBytesInAll;
  return paths.map((path) => {
    const script = readScript(path, root, Math.min(maxShownBytes, left));
    left -= Buffer.byteLength(script.text ?? "");
    return script;
  });
}

/** The hash is that of the shown bytes, so that a change between two reads cannot be trusted unseen. */
function readScript(path: string, root: string, maxBytes: number): HookScript {
  const bytes = readBytes(join(root, path), maxBytes);
  if (bytes === null) return { path, hash: hashFile(join(root, path)), text: null };
  return { path, hash: createHash("sha256").update(bytes).digest("hex"), text: decodeText(bytes) };
}

/** Null if the file is too large, or cannot be read in this way: some files of the system are read in whole blocks only. */
function readBytes(path: string, maxBytes: number): Buffer | null {
  try {
    const file = readSmallFile(path, maxBytes);
    return file.type === "file" ? file.bytes : null;
  } catch {
    return null;
  }
}
