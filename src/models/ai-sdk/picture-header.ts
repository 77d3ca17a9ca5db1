/**
 * The format and the size of a picture, from the first bytes of its file.
 *
 * 1. Only the beginning is decoded, so the time does not grow with the picture. A JPEG with so much metadata that its size
 *    comes later has an unknown size.
 * 2. A few lines are enough for the four formats that providers accept. A library would parse many more formats, each from
 *    untrusted bytes.
 */
import { decodeBase64 } from "../../platform/bytes.js";

export type PictureHeader = {
  readonly mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Pixels. */
  readonly size?: { readonly width: number; readonly height: number };
};

/** Characters of base64: 192 KiB of the file. */
const maxCharacters = 262_144;

/** @returns null if the data is in none of the four formats */
export function readPictureHeader(base64: string): PictureHeader | null {
  const bytes = decodeBase64(base64.slice(0, maxCharacters));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (startsWith(bytes, 0, "\x89PNG\r\n\x1a\n"))
    return createHeader("image/png", bytes.length < 24 ? undefined : [view.getUint32(16), view.getUint32(20)]);
  if (startsWith(bytes, 0, "GIF87a") || startsWith(bytes, 0, "GIF89a"))
    return createHeader(
      "image/gif",
      bytes.length < 10 ? undefined : [view.getUint16(6, true), view.getUint16(8, true)],
    );
  if (startsWith(bytes, 0, "RIFF") && startsWith(bytes, 8, "WEBP"))
    return createHeader("image/webp", readWebpSize(bytes, view));
  return startsWith(bytes, 0, "\xff\xd8\xff") ? createHeader("image/jpeg", readJpegSize(view)) : null;
}

type Size = readonly [width: number, height: number];

function createHeader(mediaType: PictureHeader["mediaType"], size: Size | undefined): PictureHeader {
  return size === undefined ? { mediaType } : { mediaType, size: { width: size[0], height: size[1] } };
}

function startsWith(bytes: Uint8Array, offset: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (bytes[offset + index] !== text.charCodeAt(index)) return false;
  return true;
}

/** The three kinds of WebP: lossy, lossless, and extended. */
function readWebpSize(bytes: Uint8Array, view: DataView): Size | undefined {
  if (bytes.length < 30) return undefined;
  const readUint24 = (offset: number) => view.getUint16(offset, true) + ((bytes[offset + 2] ?? 0) << 16);
  if (startsWith(bytes, 12, "VP8 ")) return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (startsWith(bytes, 12, "VP8X")) return [readUint24(24) + 1, readUint24(27) + 1];
  if (!startsWith(bytes, 12, "VP8L")) return undefined;
  const bits = view.getUint32(21, true);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}

/** The size is in the first frame header (SOF), after segments that begin with their length. */
function readJpegSize(view: DataView): Size | undefined {
  let offset = 2;
  while (offset + 9 < view.byteLength) {
    if (view.getUint8(offset) !== 0xff) return undefined;
    const marker = view.getUint8(offset + 1);
    const isFiller = marker === 0xff;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [view.getUint16(offset + 7), view.getUint16(offset + 5)];
    offset += isFiller ? 1 : 2 + Math.max(2, view.getUint16(offset + 2));
  }
  return undefined;
}
