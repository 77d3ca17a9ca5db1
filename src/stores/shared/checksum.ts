/**
 * Checksums of the strings in a database.
 */
import { crc32 } from "node:zlib";

/**
 * The CRC-32 that is stored next to a string, because SQLite does not detect bytes that the disk has changed.
 *
 * @param prefix hashed before the text: identifies its row, so that a text in the wrong row is detected
 */
export function checksumOf(text: string, prefix = ""): number {
  return crc32(text, crc32(prefix));
}

/** The checksum prefix of a commit: its session and its last entry. */
export function checksumPrefixOf(sessionId: string, seq: number): string {
  return `${sessionId} ${seq} `;
}
