/**
 * The format and the size of a picture, from the first bytes of its file.
 *
 * 1. Only the beginning is decoded, so the time does not grow with the picture. A JPEG whose size comes after more than
 *    that of metadata has an unknown size.
 * 2. A few lines are enough for the four formats that providers take. A library would read many more, each from bytes of
 *    strangers.
 */
import { bytesOfBase64 } from "../../platform/bytes.js";

export type PictureHeader = {
  readonly mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Pixels. */
  readonly size?: { readonly width: number; readonly height: number };
};

/** Characters of base64: 192 KiB of the file. */
const maxCharacters = 262_144;

/** @returns null if the data is in none of the four formats */
export function readPictureHeader(base64: string): PictureHeader | null {
  const bytes = bytesOfBase64(base64.slice(0, maxCharacters));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (starts(bytes, 0, "\x89PNG\r\n\x1a\n"))
    return withSize("image/png", bytes.length < 24 ? undefined : [view.getUint32(16), view.getUint32(20)]);
  if (starts(bytes, 0, "GIF87a") || starts(bytes, 0, "GIF89a"))
    return withSize("image/gif", bytes.length < 10 ? undefined : [view.getUint16(6, true), view.getUint16(8, true)]);
  if (starts(bytes, 0, "RIFF") && starts(bytes, 8, "WEBP")) return withSize("image/webp", webpSize(bytes, view));
  return starts(bytes, 0, "\xff\xd8\xff") ? withSize("image/jpeg", jpegSize(view)) : null;
}

type Size = readonly [width: number, height: number];

function withSize(mediaType: PictureHeader["mediaType"], size: Size | undefined): PictureHeader {
  return size === undefined ? { mediaType } : { mediaType, size: { width: size[0], height: size[1] } };
}

function starts(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[at + index] !== text.charCodeAt(index)) return false;
  return true;
}

/** The three kinds of WebP: lossy, lossless, and extended. */
function webpSize(bytes: Uint8Array, view: DataView): Size | undefined {
  if (bytes.length < 30) return undefined;
  const threeBytes = (at: number) => view.getUint16(at, true) + ((bytes[at + 2] ?? 0) << 16);
  if (starts(bytes, 12, "VP8 ")) return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (starts(bytes, 12, "VP8X")) return [threeBytes(24) + 1, threeBytes(27) + 1];
  if (!starts(bytes, 12, "VP8L")) return undefined;
  const bits = view.getUint32(21, true);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}

/** The size is in the first frame header (SOF), after segments that say how long they are. */
function jpegSize(view: DataView): Size | undefined {
  let at = 2;
  while (at + 9 < view.byteLength) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFiller = marker === 0xff;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    at += isFiller ? 1 : 2 + Math.max(2, view.getUint16(at + 2));
  }
  return undefined;
}
