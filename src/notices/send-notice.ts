/**
 * Sends the requests of notices, and signs those to webhooks as the Standard Webhooks specification says.
 *
 * 1. The host's name is resolved once. The connection goes to one of the addresses that were checked.
 * 2. Redirects are not followed, no proxy is used, and the body of the response is not read.
 * 3. Plain http is only for addresses that are not public and were allowed, so that no one on the network path can read a notice.
 */
import { createHmac } from "node:crypto";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { getHost } from "../platform/url-host.js";
import type { AddressRules } from "../tools/web/address-rules.js";
import { createFixedLookup, resolveAddresses } from "../tools/web/resolve-host.js";

export type OutgoingRequest = {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | Uint8Array;
};

export type Delivery = {
  /** The same in each attempt. */
  readonly id: string;
  /** The current time, in epoch milliseconds. */
  readonly now: number;
  readonly body: string;
  /** The bytes of the secrets. The delivery has a signature of each. */
  readonly keys: readonly Uint8Array[];
};

export type SendRules = {
  /** Allows public addresses, and those that were named. */
  readonly allowed: AddressRules;
  /** Allows only public addresses. */
  readonly public: AddressRules;
  /** The option that names allowed addresses. */
  readonly option: "allowAddresses" | "push.allowAddresses";
};

/** Whether a request to this URL may go to this address. */
export function isDeliverable(address: string, { protocol }: URL, rules: SendRules): boolean {
  return rules.allowed.isAllowed(address) && (protocol === "https:" || !rules.public.isAllowed(address));
}

/** Why no request can go to this URL, whose host is an address; null if one can, or if the host is a name, which is resolved later. */
export function findAddressRefusal(url: URL, rules: SendRules): string | null {
  const host = getHost(url);
  return isIP(host) === 0 || isDeliverable(host, url, rules) ? null : createRefusal(url, rules).message;
}

/** Resolves to the status of the response. @throws Error if the host has no permitted address, or does not respond */
export async function sendRequest(
  { url, headers, body }: OutgoingRequest,
  rules: SendRules,
  signal: AbortSignal,
): Promise<number> {
  const isHttps = url.protocol === "https:";
  const addresses = await resolveAddresses(getHost(url), signal);
  const permitted = addresses.filter(({ address }) => isDeliverable(address, url, rules));
  if (permitted.length === 0) throw createRefusal(url, rules);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request: ClientRequest = (isHttps ? requestHttps : requestHttp)(
      url,
      {
        method: "POST",
        agent: false,
        lookup: createFixedLookup(permitted),
        signal,
        headers: { "content-length": String(Buffer.byteLength(body)), "user-agent": "pawl", ...headers },
      },
      resolve,
    );
    request.on("error", reject);
    request.end(body);
  });
  // An abort after this point would throw.
  response.on("error", () => {});
  response.destroy();
  return response.statusCode ?? 0;
}

/** The URL may contain a token: only its host is named. */
function createRefusal({ hostname, protocol }: URL, { option }: SendRules): Error {
  return new Error(
    protocol === "https:"
      ? `${hostname} is not on the public internet. If it is yours, add its address to ${option}.`
      : `${hostname} gets no notices over http. Use https, or add its address to ${option} if it is private and yours.`,
  );
}

/** The headers of a request to a webhook. */
export function createSignedHeaders({ id, now, body, keys }: Delivery): OutgoingRequest["headers"] {
  const timestamp = Math.floor(now / 1_000);
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
