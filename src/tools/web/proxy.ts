/**
 * Finds the proxy of a request, from the variables `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
 *
 * 1. Names may be in upper or lower case. If both are set, lower case wins.
 * 2. This machine's own addresses are never reached through a proxy.
 */
import { BlockList, isIP } from "node:net";
import { PawlError } from "../../errors.js";
import { isLoopbackHost } from "../../platform/loopback.js";
import { getHost } from "../../platform/url-host.js";

/** Environment variables, by name. */
export type ProxyEnvironment = { readonly [name: string]: string | undefined };

export type HttpProxy = {
  /** Without user name and password. */
  readonly url: URL;
  /** The value of the header `proxy-authorization`; absent without credentials. */
  readonly authorization?: string;
  /** The environment variable that names the proxy. */
  readonly variable: string;
};

/**
 * Finds the proxy for an http or https URL; null if the URL is reached directly.
 * @throws PawlError `bad_configuration` if the variable does not name an http or https proxy
 */
export function findProxy(url: URL, env: ProxyEnvironment): HttpProxy | null {
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const variableName = [name.toLowerCase(), name].find((one) => (env[one] ?? "").trim() !== "");
  if (variableName === undefined || bypassesProxy(url, env.no_proxy ?? env.NO_PROXY ?? "")) return null;
  return parseProxy(variableName, env[variableName] ?? "");
}

/** Whether a variable names a proxy. @throws PawlError `bad_configuration`, as `findProxy` does */
export function hasProxy(env: ProxyEnvironment): boolean {
  const envWithoutExceptions = { ...env, no_proxy: undefined, NO_PROXY: undefined };
  const proxies = ["http", "https"].map((scheme) =>
    findProxy(new URL(`${scheme}://example.com`), envWithoutExceptions),
  );
  return proxies.some((proxy) => proxy !== null);
}

/** Describes the proxy in a message: its address and the variable, without credentials. */
export function describeProxy({ url, variable }: Pick<HttpProxy, "url" | "variable">): string {
  return `the proxy ${url.protocol}//${url.host} (${variable})`;
}

function parseProxy(variable: string, value: string): HttpProxy {
  const text = value.trim();
  const urlText = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(urlText) ? new URL(urlText) : null;
  // The value is not shown, because it may contain a password.
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "")
    throw new PawlError(
      "bad_configuration",
      `${variable} does not name a usable proxy. Set it to the URL of an http or https proxy: http://proxy.example.com:3128.`,
    );
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (username === "") return { url, variable };
  const credentials = [username, password].map(decodeCredential).join(":");
  return { url, variable, authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

function decodeCredential(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function bypassesProxy(url: URL, noProxy: string): boolean {
  const host = getHost(url).replace(/\.$/, "");
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  if (isLoopbackHost(host)) return true;
  return noProxy.split(/[\s,]+/).some((entry) => entry !== "" && matchesNoProxyEntry(entry.toLowerCase(), host, port));
}

/**
 * `*`, a domain with its subdomains (`example.com`, `.example.com`, `*.example.com`), an address or a range. Each may have a port.
 */
function matchesNoProxyEntry(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(entry, host);
  const [, bracketed, bare, entryPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  // An IPv6 address without brackets has colons, and no port.
  const name = bracketed ?? bare ?? entry;
  if (entryPort !== undefined && entryPort !== port) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return isSameAddress(name, host);
  const domain = name.replace(/^\*?\./, "").replace(/\.$/, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

function isSameAddress(name: string, host: string): boolean {
  const family = isIP(name);
  return family !== 0 && family === isIP(host) && isInRange(`${name}/${family === 4 ? 32 : 128}`, host);
}

function isInRange(range: string, host: string): boolean {
  const [address = "", bits = ""] = range.split("/");
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family === 4 ? "ipv4" : "ipv6");
  return list.check(host, family === 4 ? "ipv4" : "ipv6");
}
