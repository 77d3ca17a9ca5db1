/**
 * Checksums of what stands in a database.
 */
import { crc32 } from "node:zlib";

/**
 * The CRC-32 that is kept beside a text: SQLite itself does not notice a byte that the disk changed.
 *
 * @param prefix counted before the text: what the text belongs to, so that a text in the wrong row does not pass
 */
export function checksumOf(text: string, prefix = ""): number {
  return crc32(text, crc32(prefix));
}

/** What the texts of a commit belong to: its session, and its last entry. */
export function checksumPrefixOf(sessionId: string, seq: number): string {
  return `${sessionId} ${seq} `;
}
