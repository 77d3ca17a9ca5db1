/**
 * Checksums of text in a database.
 */
import { crc32 } from "node:zlib";

/**
 * The CRC-32 that is stored next to a text, because SQLite does not detect bytes that the disk has changed.
 *
 * @param prefix hashed before the text: the owner of the text, so that a text in the wrong row is detected
 */
export function checksumOf(text: string, prefix = ""): number {
  return crc32(text, crc32(prefix));
}

/** The prefix for the texts of a commit: its session and its last entry. */
export function checksumPrefixOf(sessionId: string, seq: number): string {
  return `${sessionId} ${seq} `;
}
