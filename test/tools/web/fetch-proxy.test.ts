/**
 * fetch_url through a proxy: a real one on this machine, which resolves names that this machine does not know.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFetchTool, type FetchToolOptions } from "../../../src/tools/index.js";
import { findProxy } from "../../../src/tools/web/proxy.js";
import { startForwardProxy } from "../../support/forward-proxy.js";
import { verifies } from "../../verifies.js";

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return (server.address() as AddressInfo).port;
}

const page: RequestListener = (request, response) => {
  response.writeHead(200, { "content-type": "text/plain" });
  response.end(`a page for ${request.headers.host}, ${request.headers["proxy-authorization"] ?? "no credentials"}`);
};

/** What the tool gives, or the message of its error. */
async function fetched(url: string, proxyEnv: NonNullable<FetchToolOptions["proxyEnv"]>) {
  try {
    return await createFetchTool({ proxyEnv }).execute?.({ url }, { signal: new AbortController().signal } as never);
  } catch (error) {
    return `Error: ${(error as Error).message}`;
  }
}

describe("fetch_url with proxyEnv", () => {
  test(
    "asks the proxy of the variable, in either case, and gives it its credentials alone",
    verifies("SEC-9"),
    async () => {
      const hosts = {
        "pages.example.test": await serve((request, response) => {
          // A proxy takes its own header off; this one passes everything on.
          delete request.headers["proxy-authorization"];
          page(request, response);
        }),
      };
      const proxy = await startForwardProxy({ hosts, credentials: "ada:p@ss word" });
      const address = `http://ada:p%40ss%20word@127.0.0.1:${proxy.port}`;
      const url = "http://pages.example.test/one";
      for (const name of ["HTTP_PROXY", "http_proxy"])
        expect(await fetched(url, { [name]: address })).toContain("a page for pages.example.test, no credentials");
      expect(await fetched(url, { HTTP_PROXY: "http://127.0.0.1:1", http_proxy: address })).toContain("a page for");
      expect(proxy.requested).toEqual(Array.from({ length: 3 }, () => `GET ${url}`));
      const wrong = await fetched(url, { HTTP_PROXY: `http://ada:wrong-secret@127.0.0.1:${proxy.port}` });
      expect(wrong).toBe(
        `Error: The proxy http://127.0.0.1:${proxy.port} (HTTP_PROXY) asks for credentials (407). Set them in HTTP_PROXY: http://USER:PASSWORD@HOST:PORT.`,
      );
      const refused = await fetched("https://pages.example.test/", { HTTPS_PROXY: `127.0.0.1:${proxy.port}` });
      expect(refused).toContain("(HTTPS_PROXY) asks for credentials (407)");
    },
  );

  test("says that the proxy cannot be reached, or what it refuses", async () => {
    const proxy = await startForwardProxy({ hosts: {}, refusalStatus: 403 });
    const env = { https_proxy: `http://127.0.0.1:${proxy.port}` };
    expect(await fetched("https://pages.example.test/", env)).toBe(
      `Error: The proxy http://127.0.0.1:${proxy.port} (https_proxy) refused the connection (status 403).`,
    );
    await proxy.kill();
    expect(await fetched("https://pages.example.test/", env)).toMatch(
      /^Error: The proxy http:\/\/127\.0\.0\.1:\d+ \(https_proxy\) could not be reached: .*ECONNREFUSED/,
    );
  });

  test("checks what it can before the proxy is asked", verifies("SEC-9"), async () => {
    const port = await serve(page);
    const proxy = await startForwardProxy({ hosts: { localhost: port, "10.0.0.1": port } });
    const address = `http://127.0.0.1:${proxy.port}`;
    const hosts = ["10.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "[::ffff:10.0.0.1]", "localhost", "127.0.0.1"];
    const names = ["metadata.google.internal", "printer.local", "intranet", "files.corp", "router.home.arpa."];
    for (const host of [...hosts, ...names])
      for (const scheme of ["http", "https"])
        expect(await fetched(`${scheme}://${host}/`, { HTTP_PROXY: address, HTTPS_PROXY: address })).toContain(
          "is not on the public internet",
        );
    expect(proxy.requested).toEqual([]);
  });

  test("checks each redirect in the same way", verifies("SEC-9"), async () => {
    const port = await serve((_, response) => void response.writeHead(302, { location: "http://10.0.0.1/" }).end());
    const proxy = await startForwardProxy({ hosts: { "pages.example.test": port } });
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
    expect(await fetched("http://pages.example.test/", env)).toContain("10.0.0.1 is not on the public internet");
    expect(proxy.requested).toHaveLength(1);
  });

  test("reaches what NO_PROXY names directly, by its own rules", verifies("SEC-9"), async () => {
    const proxy = await startForwardProxy({ hosts: {} });
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "example.test" };
    expect(await fetched("http://pages.example.test/", env)).toMatch(/ENOTFOUND|EAI_AGAIN/);
    expect(proxy.requested).toEqual([]);
  });

  test("refuses a variable that names no proxy, without its value", () => {
    for (const value of ["socks5://user:secret@127.0.0.1:1080", "http://", "http://ho st:1"])
      expect(() => createFetchTool({ proxyEnv: { HTTPS_PROXY: value } })).toThrow(
        /^HTTPS_PROXY does not name a usable proxy. Set it to the URL of an http or https proxy: \S+$/,
      );
    expect(() => createFetchTool({ proxyEnv: { HTTPS_PROXY: " ", http_proxy: "" } })).not.toThrow();
  });
});

describe("NO_PROXY", () => {
  test.each([
    ["*", "https://a.example.com/", true],
    ["example.com", "https://example.com/", true],
    ["example.com", "https://a.example.com/", true],
    ["example.com", "https://badexample.com/", false],
    [".example.com", "https://a.example.com/", true],
    [".example.com", "https://example.com/", true],
    ["*.example.com", "https://a.b.example.com/", true],
    ["EXAMPLE.com.", "https://example.com/", true],
    ["other.com, example.com", "https://example.com/", true],
    ["other.com example.com", "https://example.com/", true],
    ["example.com:8443", "https://example.com:8443/", true],
    ["example.com:8443", "https://example.com/", false],
    ["example.com:443", "https://example.com/", true],
    ["10.1.2.3", "https://10.1.2.3/", true],
    ["10.1.2.3:80", "http://10.1.2.3/", true],
    ["10.0.0.0/8", "https://10.1.2.3/", true],
    ["10.0.0.0/8", "https://11.1.2.3/", false],
    ["10.0.0.0/99", "https://10.1.2.3/", false],
    ["2001:db8::1", "https://[2001:db8::1]/", true],
    ["[2001:db8::1]:443", "https://[2001:0db8:0::1]/", true],
    ["[2001:db8::1]:444", "https://[2001:db8::1]/", false],
    ["2001:db8::/32", "https://[2001:db8:5::1]/", true],
    ["2001:db8::/32", "https://10.1.2.3/", false],
    [".3", "https://10.1.2.3/", false],
    ["", "https://example.com/", false],
    ["", "https://localhost/", true],
    ["", "https://127.0.0.5/", true],
    ["", "https://[::1]/", true],
    ["", "https://sub.localhost/", true],
  ])("%j and %s: directly is %s", (noProxy, url, isDirect) => {
    const proxy = "http://proxy.example.net:3128";
    for (const name of ["NO_PROXY", "no_proxy"]) {
      const found = findProxy(new URL(url), { HTTPS_PROXY: proxy, HTTP_PROXY: proxy, [name]: noProxy });
      expect(found === null).toBe(isDirect);
    }
  });

  test("a long list ends in linear time", () => {
    const env = {
      HTTPS_PROXY: "http://p:1",
      NO_PROXY: `${"a.".repeat(50_000)}x,${":".repeat(50_000)},${"[".repeat(50_000)}`,
    };
    expect(findProxy(new URL("https://example.com/"), env)).toMatchObject({ variable: "HTTPS_PROXY" });
  });
});
