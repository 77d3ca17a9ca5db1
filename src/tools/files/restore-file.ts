/**
 * Restores an earlier content of a file, byte for byte.
 */
import { createHash } from "node:crypto";
import { unlink } from "node:fs/promises";
import { createPace } from "../lib/pace.js";
import { runInFileQueue } from "./file-queue.js";
import { defaultAccess, type Folder, openFile, pathIn, statIn } from "./folder.js";
import { replaceFile } from "./replace-file.js";
import { createRoot, resolveForWriting, withParentFolder } from "./root.js";
import { createNotRegularError, maxFileBytes } from "./text-file.js";

export type RestoreOptions = {
  readonly root: string;
  readonly protect: readonly string[];
  /** Relative to the root. No name along the path may be a link. */
  readonly path: string;
  /** The expected SHA-256 of the file; null if no file is expected. If absent, any content is replaced. */
  readonly from?: string | null;
  /** The content to restore; null if there was no file. */
  readonly to: Uint8Array | null;
};

/**
 * The file is compared, and replaced or removed, in the folder that was opened: a link that is created in the meantime has no
 * effect.
 *
 * @throws Error if the file has changed, is no longer at this path, or is not writable
 */
export async function restoreFile({ root: rootPath, protect, path, from, to }: RestoreOptions): Promise<void> {
  const signal = new AbortController().signal;
  const root = createRoot(rootPath, protect, defaultAccess);
  const resolved = await resolveForWriting(root, path);
  if (resolved.relative !== path) throw new Error("it has been replaced by something else");
  const restore = async (folder: Folder, name: string) => {
    await createPace(signal)();
    const current = await readBytes(folder, name, resolved.displayPath);
    if (from !== undefined && from !== (current === null ? null : createHash("sha256").update(current).digest("hex")))
      throw new Error("it has changed in the meantime, so it was left alone");
    if (to !== null)
      await replaceFile({ folder, name, displayPath: resolved.displayPath, content: Buffer.from(to), signal });
    else if (current !== null) await unlink(pathIn(folder, name));
  };
  await withParentFolder(
    root,
    resolved,
    (folder, name) => runInFileQueue(folder, name, signal, () => restore(folder, name)),
    {
      make: to !== null,
    },
  );
}

async function readBytes(folder: Folder, name: string, displayPath: string): Promise<Buffer | null> {
  if ((await statIn(folder, name)) === null) return null;
  const handle = await openFile(folder, name);
  if (handle === null) throw createNotRegularError(displayPath);
  try {
    const { size } = await handle.stat();
    if (size > maxFileBytes)
      throw new Error(`${displayPath} has ${size} bytes; files over ${maxFileBytes} bytes are not read.`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
