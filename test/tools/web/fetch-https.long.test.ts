/**
 * fetch_url over HTTPS: a real server on this machine, whose certificate is its own, and a process that trusts it or not.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { verifies } from "../../verifies.js";

const certificate = resolve("test/fixtures/tls/certificate.pem");

/** Serves a page under the name `localhost`; gives its port. */
async function serve(): Promise<number> {
  const key = readFileSync(resolve("test/fixtures/tls/key.pem"));
  const server = createServer({ key, cert: readFileSync(certificate) }, (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    response.end("behind a certificate");
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return (server.address() as AddressInfo).port;
}

async function fetched(url: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const program = resolve("test/fixtures/fetch-page.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [program, url], { env: { ...process.env, ...env } });
  return stdout;
}

test("a page comes over HTTPS, and the certificate is of the name that was asked for", verifies("SEC-9"), async () => {
  const port = await serve();
  const trusting = { NODE_EXTRA_CA_CERTS: certificate };
  expect(await fetched(`https://localhost:${port}/`, trusting)).toContain("behind a certificate");
  // The address is the same one. The certificate is of another name.
  expect(await fetched(`https://127.0.0.1:${port}/`, trusting)).toMatch(/^Error: .*(altnames|does not match)/i);
});

test("a certificate that nobody vouches for is refused", verifies("SEC-9"), async () => {
  const port = await serve();
  const shown = await fetched(`https://localhost:${port}/`);
  expect(shown).toMatch(/^Error: .*self-signed certificate/i);
  expect(shown).not.toContain("behind a certificate");
});
