/**
 * A server on this machine whose answers make a careless reader slow, each at a path of its own.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { encodeText } from "../../../src/core/data/text-bytes.js";

type Respond = (response: ServerResponse) => void;

export type HostileServer = {
  readonly origin: string;
  /** What each path makes hard → the path. */
  readonly paths: Readonly<Record<string, string>>;
};

/** Serves these texts and worse until the test ends. */
export async function createHostileServer(texts: Readonly<Record<string, string>>): Promise<HostileServer> {
  const responses = Object.entries(createResponses(texts));
  const server = createServer(({ url }, response) => {
    const respond = responses[Number(url?.slice(1))]?.[1];
    if (respond === undefined) response.writeHead(404).end();
    else respond(response);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    paths: Object.fromEntries(responses.map(([what], index) => [what, `/${index}`])),
  };
}

function createResponses(texts: Readonly<Record<string, string>>): Readonly<Record<string, Respond>> {
  const mebibyte = 1024 * 1024;
  const invalidBytes = Buffer.alloc(mebibyte, 0x81);
  const zeros = Buffer.alloc(64 * mebibyte);
  const textResponses = Object.entries(texts).map(([what, text]) => [what, respondWith(encodeText(text))] as const);
  const charsetResponses = ["utf-8", "utf-16le", "shift_jis", "gb18030", "big5", "iso-2022-jp", "x-user-defined"].map(
    (charset) =>
      [`bytes as ${charset}`, respondWith(invalidBytes, { "content-type": `text/plain; charset=${charset}` })] as const,
  );
  const htmlHeaders = { "content-type": "text/html" };
  return {
    ...Object.fromEntries([...textResponses, ...charsetResponses]),
    "64 MiB in gzip": respondWith(gzipSync(zeros), { "content-encoding": "gzip" }),
    "64 MiB in brotli": respondWith(brotliCompressSync(zeros), { "content-encoding": "br" }),
    "tags of a page": respondWith(Buffer.from("<meta ".repeat(mebibyte / 8)), htmlHeaders),
    "an unfinished charset": respondWith(Buffer.from(`<meta${" charset=".repeat(mebibyte / 16)}`), htmlHeaders),
    "a long media type": respondWith(invalidBytes, { "content-type": `text/${"a;".repeat(4_000)}` }),
    "many small pieces": respondInPieces,
    "redirects to itself": (response) => response.writeHead(302, { location: "" }).end(),
    "a long redirect": (response) => response.writeHead(302, { location: `/${"a/../".repeat(1_600)}` }).end(),
  };
}

function respondWith(bytes: Uint8Array, headers: Readonly<Record<string, string>> = {}): Respond {
  return (response) => response.writeHead(200, { "content-type": "text/plain", ...headers }).end(bytes);
}

/** One letter in each piece. Waits when nobody reads, and does not make the pieces in one turn. */
function respondInPieces(response: ServerResponse): void {
  let remaining = 20_000;
  response.writeHead(200, { "content-type": "text/plain" });
  const write = (): void => {
    for (let piece = 0; piece < 500 && remaining > 0; piece += 1, remaining -= 1) response.write("a");
    if (remaining > 0) setImmediate(write);
    else response.end();
  };
  write();
}
