/**
 * Puts a file back to what it was, byte for byte.
 */
import { createHash } from "node:crypto";
import { unlink } from "node:fs/promises";
import { inTurn } from "./file-turns.js";
import { type Folder, openFile, pathIn, statIn, usualAccess } from "./folder.js";
import { createPace } from "./pace.js";
import { replaceFile } from "./replace-file.js";
import { createRoot, inFolderOf, resolveForWriting } from "./root.js";
import { maxFileBytes, notRegular } from "./text-file.js";

export type Restored = {
  readonly root: string;
  readonly protect: readonly string[];
  /** Relative to the root. No name on the way may be a link. */
  readonly path: string;
  /** The SHA-256 that the file has if nothing else changed it, null for no file. Without it, whatever is there is replaced. */
  readonly from?: string | null;
  /** Null: there was no file. */
  readonly to: Uint8Array | null;
};

/**
 * The file is compared, and replaced or removed, in the folder that was opened: a link that is put in place meanwhile leads nowhere.
 *
 * @throws Error if the file has changed, something else has taken its place, or it may not be written
 */
export async function restoreFile({ root: top, protect, path, from, to }: Restored): Promise<void> {
  const signal = new AbortController().signal;
  const root = createRoot(top, protect, usualAccess);
  const place = await resolveForWriting(root, path);
  if (place.relative !== path) throw new Error("something else stands in its place now");
  const restore = async (folder: Folder, name: string) => {
    await createPace(signal)();
    const present = await bytesIn(folder, name, place.shown);
    if (from !== undefined && from !== (present === null ? null : createHash("sha256").update(present).digest("hex")))
      throw new Error("it has changed meanwhile, and stays as it is");
    if (to !== null) await replaceFile({ folder, name, shown: place.shown, content: Buffer.from(to), signal });
    else if (present !== null) await unlink(pathIn(folder, name));
  };
  await inFolderOf(root, place, (folder, name) => inTurn(folder, name, signal, () => restore(folder, name)), {
    make: to !== null,
  });
}

async function bytesIn(folder: Folder, name: string, shown: string): Promise<Buffer | null> {
  if ((await statIn(folder, name)) === null) return null;
  const handle = await openFile(folder, name);
  if (handle === null) throw notRegular(shown);
  try {
    const { size } = await handle.stat();
    if (size > maxFileBytes)
      throw new Error(`${shown} has ${size} bytes; files over ${maxFileBytes} bytes are not read.`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
