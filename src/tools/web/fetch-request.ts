/**
 * Sends a GET request, without following redirects.
 *
 * 1. The host name is resolved once. The connection goes to one of the addresses that were checked.
 * 2. Each request has its own connection, no cookies and no credentials.
 * 3. The request goes through a proxy only if the author names one; proxied-request.ts describes the checks in that case.
 */
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { getHost } from "../../platform/url-host.js";
import type { AddressRules } from "./address-rules.js";
import { canRequestThroughProxy, requestThroughProxy } from "./proxied-request.js";
import type { HttpProxy } from "./proxy.js";
import { createFixedLookup, resolveAddresses } from "./resolve-host.js";

const headers = { accept: "text/*, application/json, application/xml;q=0.9, */*;q=0.1", "user-agent": "pawl" } as const;

/**
 * The timeout for resolving a name that a proxy resolves anyway, in milliseconds. Behind a proxy, this machine often cannot resolve
 * it.
 */
const maxLookupMs = 2_000;

/** The maximum length of a URL, in characters. */
const maxUrlCharacters = 8_192;

/** @throws Error if the text is not an http or https URL, or contains a user name or password */
export function parseFetchUrl(text: string, base?: URL): URL {
  if (text.length > maxUrlCharacters) throw new Error(`The URL is longer than ${maxUrlCharacters} characters.`);
  if (!URL.canParse(text, base?.href))
    throw new Error(`${JSON.stringify(text)} is not a URL. Use a complete URL, with http:// or https://.`);
  const url = new URL(text, base?.href);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`The scheme ${url.protocol} is not fetched: only http and https are supported.`);
  if (url.username !== "" || url.password !== "")
    throw new Error("The URL contains a user name or password, and is not fetched.");
  url.hash = "";
  return url;
}

/** @throws Error if the host has no permitted address, or does not respond */
export async function sendGet(
  url: URL,
  rules: AddressRules,
  proxy: HttpProxy | null,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = getHost(url);
  if (proxy !== null) {
    const lookupSignal = AbortSignal.any([signal, AbortSignal.timeout(maxLookupMs)]);
    const resolved = await resolveAddresses(host, lookupSignal).catch(() => null);
    signal.throwIfAborted();
    const addresses = resolved?.map(({ address }) => address) ?? null;
    if (!canRequestThroughProxy(host, addresses, rules)) throw createNotPublicError(url, addresses ?? []);
    return requestThroughProxy(proxy, url, headers, signal);
  }
  const addresses = await resolveAddresses(host, signal);
  const allowed = addresses.filter(({ address }) => rules.isAllowed(address));
  if (allowed.length === 0)
    throw createNotPublicError(
      url,
      addresses.map(({ address }) => address),
    );
  const options: RequestOptions = {
    agent: false,
    lookup: createFixedLookup(allowed),
    signal,
    headers,
  };
  return new Promise((resolve, reject) => {
    const request: ClientRequest = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options, resolve);
    request.on("error", reject);
    request.end();
  });
}

function createNotPublicError(url: URL, addresses: readonly string[]): Error {
  const addressList = addresses.join(", ");
  const addressNote = addressList === "" || addressList === getHost(url) ? "" : ` (${addressList})`;
  return new Error(
    `${url.hostname} is not on the public internet${addressNote}. Private, local and metadata addresses are not fetched.`,
  );
}
