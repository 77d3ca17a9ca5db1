/**
 * Checksums of what stands in a database.
 */
import { crc32 } from "node:zlib";

/**
 * The CRC-32 that is kept beside a text: SQLite itself does not notice a byte that the disk changed.
 *
 * @param of counted before the text: what the text belongs to, so that a text in the wrong row does not pass
 */
export function checksumOf(text: string, of = ""): number {
  return crc32(text, crc32(of));
}

/** What the texts of a commit belong to: its session, and its last entry. */
export function positionOf(sessionId: string, seq: number): string {
  return `${sessionId} ${seq} `;
}
