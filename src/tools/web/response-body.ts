/**
 * Reads the body of a response as text: bounded, decompressed, and decoded by its charset.
 */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

export type TextBody = {
  readonly text: string;
  readonly charset: string;
  /** The number of bytes after decompression. */
  readonly bytes: number;
  /** Whether the body is longer than the text. */
  readonly isCut: boolean;
};

/** The media type without its parameters, in lower case; empty if there is none. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

const textMediaTypes: ReadonlySet<string> = new Set([
  "application/json",
  "application/xml",
  "application/javascript",
  "application/x-ndjson",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
  "application/sql",
]);

export function isTextMediaType(mediaType: string): boolean {
  return /^text\/|\+(?:json|xml|yaml)$/.test(mediaType) || textMediaTypes.has(mediaType);
}

/** Reads at most `maxBytes`. @throws Error if the body cannot be decompressed, or is incomplete */
export async function readTextBody(response: IncomingMessage, maxBytes: number): Promise<TextBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stream = decompress(response);
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) break;
  }
  response.destroy();
  const body = Buffer.concat(chunks);
  const boundedBody = body.subarray(0, maxBytes);
  const { decoder, charset } = createDecoder(response, boundedBody);
  return { text: decoder.decode(boundedBody), charset, bytes: boundedBody.length, isCut: body.length > maxBytes };
}

/** A small body may expand to a huge one, so the caller counts the decompressed bytes chunk by chunk. */
function decompress(response: IncomingMessage): Readable {
  const encoding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const decompressor = createDecompressor(encoding);
  if (decompressor === undefined) return response;
  response.on("error", (error) => decompressor.destroy(error));
  response.on("close", () => {
    if (!response.complete) decompressor.destroy(new Error("the response ended early"));
  });
  return response.pipe(decompressor);
}

function createDecompressor(encoding: string) {
  switch (encoding) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new Error(`its content encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported`);
  }
}

/** The charset comes from a byte order mark, the header, or an HTML page's own declaration; otherwise it is UTF-8. */
function createDecoder(response: IncomingMessage, bytes: Buffer) {
  const headerCharset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(response.headers["content-type"] ?? "")?.[1];
  const head = mediaTypeOf(response).includes("html") ? bytes.subarray(0, 1_024).toString("latin1") : "";
  const metaCharset = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(head)?.[1];
  for (const charset of [detectByteOrderMark(bytes), headerCharset, metaCharset]) {
    if (charset === undefined) continue;
    try {
      const decoder = new TextDecoder(charset);
      return { decoder, charset: decoder.encoding };
    } catch {
      // This charset is unknown, but the next one may be known.
    }
  }
  return { decoder: new TextDecoder(), charset: "utf-8" };
}

function detectByteOrderMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}
