/**
 * One GET request, without following redirects.
 *
 * 1. The host's name is resolved once. What is connected to is one of the addresses that were checked.
 * 2. Each request has its own connection, no cookies and no credentials.
 * 3. It goes through a proxy only if the author names one; fetch-proxied.ts says what is checked then.
 */
import dns, { type LookupAddress } from "node:dns";
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { AddressRules } from "./fetch-addresses.js";
import { getThrough, mayAskProxy } from "./fetch-proxied.js";
import type { HttpProxy } from "./proxy.js";

const headers = { accept: "text/*, application/json, application/xml;q=0.9, */*;q=0.1", "user-agent": "pawl" } as const;

/** How long this machine has to resolve a name that a proxy resolves anyway. Behind a proxy, it often cannot. */
const longestLookupMs = 2_000;

/** The longest address that is requested, in characters. */
const longestUrl = 8_192;

/** @throws Error if it is no address of http or https, or carries a user's name or password */
export function checkedUrl(text: string, base?: URL): URL {
  if (text.length > longestUrl) throw new Error(`The URL is longer than ${longestUrl} characters.`);
  if (!URL.canParse(text, base?.href))
    throw new Error(`${JSON.stringify(text)} is not a URL. Give a whole one, with http:// or https://.`);
  const url = new URL(text, base?.href);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`The scheme ${url.protocol} is not fetched: only http and https are.`);
  if (url.username !== "" || url.password !== "")
    throw new Error("The URL has a user's name or password in it, and is not fetched.");
  url.hash = "";
  return url;
}

/** @throws Error if the host has no address that may be connected to, or does not answer */
export async function get(
  url: URL,
  rules: AddressRules,
  proxy: HttpProxy | null,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (proxy !== null) {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(longestLookupMs)]);
    const known = await addressesOf(host, inTime).catch(() => null);
    signal.throwIfAborted();
    const addresses = known?.map(({ address }) => address) ?? null;
    if (!mayAskProxy(host, addresses, rules)) throw notPublic(url, addresses ?? []);
    return getThrough(proxy, url, headers, signal);
  }
  const addresses = await addressesOf(host, signal);
  const allowed = addresses.filter(({ address }) => rules.isAllowed(address));
  if (allowed.length === 0)
    throw notPublic(
      url,
      addresses.map(({ address }) => address),
    );
  const options: RequestOptions = {
    agent: false,
    lookup: alwaysTo(allowed),
    signal,
    headers,
  };
  return new Promise((resolve, reject) => {
    const request: ClientRequest = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options, resolve);
    request.on("error", reject);
    request.end();
  });
}

function notPublic({ hostname }: URL, addresses: readonly string[]): Error {
  const shown = addresses.join(", ");
  const at = shown === "" || shown === hostname.replace(/^\[|\]$/g, "") ? "" : ` (${shown})`;
  return new Error(
    `${hostname} is not on the public internet${at}. Private, local and metadata addresses are not fetched.`,
  );
}

async function addressesOf(host: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  signal.throwIfAborted();
  // A resolution cannot be aborted. The wait for it can.
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    stopListening = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([dns.promises.lookup(host, { all: true }), aborted]);
  } finally {
    stopListening();
  }
}

/** A resolution that always gives the checked addresses: the name is not resolved again. */
function alwaysTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}
