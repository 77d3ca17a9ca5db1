/**
 * Reads text files whole, up to a bound, and writes them atomically.
 */
import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { constants, lstat, mkdir, open, realpath, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { assertOpenedInRoot, assertRegular, explained, type FilePosition, openToRead, type Root } from "./root.js";

/** 16 MiB. A larger file is not read. */
export const maxFileBytes = 16 * 1024 * 1024;

export type TextFile = {
  readonly text: string;
  /** True if some bytes are not UTF-8 and became U+FFFD. Writing the text back would lose them. */
  readonly isDamaged: boolean;
  readonly stats: Stats;
};

export type FileContent = TextFile | { readonly refused: "binary" | "large"; readonly bytes: number };

/** @throws Error if the file is missing, not a regular file, unreadable, or outside the root */
export async function readTextFile(root: Root, place: FilePosition): Promise<FileContent> {
  const handle = await openToRead(root, place).catch((error: unknown) => {
    throw explained(error, place.shown);
  });
  try {
    const stats = await handle.stat();
    if (stats.size > maxFileBytes) return { refused: "large", bytes: stats.size };
    const bytes = await handle.readFile();
    if (bytes.subarray(0, 8192).includes(0)) return { refused: "binary", bytes: bytes.length };
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return { text, isDamaged: text.includes("\ufffd") && !Buffer.from(text).equals(bytes), stats };
  } finally {
    await handle.close();
  }
}

/** @throws Error as `readTextFile` does, and if the file is binary or too large */
export async function readTextOrThrow(root: Root, place: FilePosition): Promise<TextFile> {
  const content = await readTextFile(root, place);
  if (!("refused" in content)) return content;
  throw new Error(
    content.refused === "binary"
      ? `${place.shown} is a binary file (${content.bytes} bytes) and cannot be read as text.`
      : `${place.shown} has ${content.bytes} bytes; files over ${maxFileBytes} bytes are not read.`,
  );
}

/** Splits a text into lines without their line ends. A line end at the end of the text begins no further line. */
export function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export type WrittenFile = { readonly bytes: number; readonly isNew: boolean };

/**
 * Writes a temporary file beside the file, and renames it. So a reader sees the old text or the new text, and a crash
 * leaves one of them. Missing folders are created. The mode of the file is kept.
 *
 * @param expected the stats from when the text was read; if the file has changed since, it is not written
 */
export async function writeTextFile(
  root: Root,
  place: FilePosition,
  text: string,
  expected?: Stats,
): Promise<WrittenFile> {
  try {
    const existing = await statIfThere(place);
    if (existing !== null) await assertRegular(place);
    await makeFolder(place);
    const temporary = join(
      dirname(place.absolute),
      `.${basename(place.absolute).slice(0, 100)}.${randomBytes(6).toString("hex")}.tmp`,
    );
    const written = await writeNew(root, { absolute: temporary, shown: place.shown }, text, existing?.mode);
    try {
      if (expected !== undefined) assertSame(place, expected, await statIfThere(place));
      await rename(temporary, place.absolute);
    } catch (error) {
      await unlink(temporary);
      throw error;
    }
    return { bytes: written, isNew: existing === null };
  } catch (error) {
    throw explained(error, place.shown);
  }
}

/** Creates a file and syncs it to the disk. If that fails, the file is removed. */
async function writeNew(root: Root, place: FilePosition, text: string, mode: number | undefined): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const bytes = Buffer.from(text);
  const handle = await open(place.absolute, flags);
  try {
    await assertOpenedInRoot(root, handle, place);
    await handle.writeFile(bytes);
    if (mode !== undefined) await handle.chmod(mode & 0o777);
    await handle.sync();
  } catch (error) {
    await unlink(place.absolute);
    throw error;
  } finally {
    await handle.close();
  }
  return bytes.length;
}

async function makeFolder(place: FilePosition): Promise<void> {
  const folder = dirname(place.absolute);
  await mkdir(folder, { recursive: true });
  // If a parent folder was replaced by a link meanwhile, the real path differs.
  if ((await realpath(folder)) !== folder)
    throw new Error(`The folder of ${place.shown} changed while the file was written. Try again.`);
}

async function statIfThere(place: FilePosition): Promise<Stats | null> {
  return await lstat(place.absolute).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
}

function assertSame(place: FilePosition, before: Stats, now: Stats | null): void {
  const isSame = now !== null && now.ino === before.ino && now.mtimeMs === before.mtimeMs && now.size === before.size;
  if (!isSame) throw new Error(`${place.shown} was changed by another program during the edit. Read it again.`);
}
