/**
 * A server on this machine whose answers make a careless reader slow, each at a path of its own.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { bytesOfText } from "../../src/core/data/text-bytes.js";

type Answer = (response: ServerResponse) => void;

export type HostileServer = {
  readonly origin: string;
  /** What each path makes hard → the path. */
  readonly paths: Readonly<Record<string, string>>;
};

/** Serves these texts and worse until the test ends. */
export async function createHostileServer(texts: Readonly<Record<string, string>>): Promise<HostileServer> {
  const answers = Object.entries(answersOf(texts));
  const server = createServer(({ url }, response) => {
    const answer = answers[Number(url?.slice(1))]?.[1];
    if (answer === undefined) response.writeHead(404).end();
    else answer(response);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    paths: Object.fromEntries(answers.map(([what], index) => [what, `/${index}`])),
  };
}

function answersOf(texts: Readonly<Record<string, string>>): Readonly<Record<string, Answer>> {
  const million = 1024 * 1024;
  const noText = Buffer.alloc(million, 0x81);
  const zeros = Buffer.alloc(64 * million);
  const plain = Object.entries(texts).map(([what, text]) => [what, body(bytesOfText(text))] as const);
  const decoded = ["utf-8", "utf-16le", "shift_jis", "gb18030", "big5", "iso-2022-jp", "x-user-defined"].map(
    (charset) => [`bytes as ${charset}`, body(noText, { "content-type": `text/plain; charset=${charset}` })] as const,
  );
  const page = { "content-type": "text/html" };
  return {
    ...Object.fromEntries([...plain, ...decoded]),
    "64 MiB in gzip": body(gzipSync(zeros), { "content-encoding": "gzip" }),
    "64 MiB in brotli": body(brotliCompressSync(zeros), { "content-encoding": "br" }),
    "tags of a page": body(Buffer.from("<meta ".repeat(million / 8)), page),
    "an unfinished charset": body(Buffer.from(`<meta${" charset=".repeat(million / 16)}`), page),
    "a long media type": body(noText, { "content-type": `text/${"a;".repeat(4_000)}` }),
    "many small pieces": inPieces,
    "redirects to itself": (response) => response.writeHead(302, { location: "" }).end(),
    "a long redirect": (response) => response.writeHead(302, { location: `/${"a/../".repeat(1_600)}` }).end(),
  };
}

function body(bytes: Uint8Array, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => response.writeHead(200, { "content-type": "text/plain", ...headers }).end(bytes);
}

/** One letter in each piece. Waits when nobody reads, and does not make the pieces in one turn. */
function inPieces(response: ServerResponse): void {
  let left = 20_000;
  response.writeHead(200, { "content-type": "text/plain" });
  const write = (): void => {
    for (let piece = 0; piece < 500 && left > 0; piece += 1, left -= 1) response.write("a");
    if (left > 0) setImmediate(write);
    else response.end();
  };
  write();
}
