/**
 * Destinations of notices: who gets which notices, and how they are signed.
 */
import { anArray, checkOptions, nonEmptyString, type OptionTable } from "../check-options.js";
import type { Json } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import { createSignedHeaders, findAddressRefusal, type OutgoingRequest, type SendRules } from "./send-notice.js";

/** What a notice is about. */
export type NoticeKind = "run.waiting" | "run.ended" | "schedule.missed";

/** Begins the ids of the destinations that are browsers. */
export const pushPrefix = "push.";

export const noticeKinds: readonly NoticeKind[] = ["run.waiting", "run.ended", "schedule.missed"];

/** A receiver of notices. */
export type NoticeDestination = {
  /** Names the destination in the store: 1 to 100 of `A-Za-z0-9_.-`. */
  readonly id: string;
  /**
   * The URL that gets the notices as POST requests. It must be https, except for addresses of `allowAddresses`. If its host is an address,
   * `createNotices` checks it; the addresses of a name are checked with each delivery.
   */
  readonly url: string;
  /**
   * Signs the notices: `whsec_` and 24 to 64 bytes in base64. Two while you replace one: each notice then has both signatures. Secrets are not
   * stored.
   */
  readonly secret: string | readonly string[];
  /** Default: all. */
  readonly kinds?: readonly NoticeKind[];
  /** Only notices about sessions and schedules of these agents. Default: of all. */
  readonly agents?: readonly string[];
};

/** A notice, as it was written. */
export type NoticeFields = { readonly type: string; readonly data: { readonly [name: string]: Json } };

export type Outgoing = {
  /** The same in each attempt. */
  readonly deliveryId: string;
  /** The present time, in epoch milliseconds. */
  readonly now: number;
  readonly notice: Json;
  readonly fields: NoticeFields;
};

export type CompiledDestination = {
  readonly id: string;
  readonly wants: (fields: NoticeFields) => boolean;
  readonly createRequest: (outgoing: Outgoing) => OutgoingRequest;
  /** A browser that is gone (404 or 410) is removed. Of other destinations, the notice is dead. */
  readonly isBrowser: boolean;
};

const aSecret = {
  accepts: (value: unknown) => typeof value === "string" || Array.isArray(value),
  expected: "a string, or an array of two",
};

const rules: OptionTable<NoticeDestination> = {
  id: nonEmptyString,
  url: nonEmptyString,
  secret: aSecret,
  kinds: anArray,
  agents: anArray,
};

/** @throws PawlError `bad_configuration` */
export function compileDestinations(
  destinations: readonly NoticeDestination[],
  sendRules: SendRules,
): readonly CompiledDestination[] {
  const compiled = destinations.map((destination, index) => {
    checkOptions(`createNotices(): destination ${index + 1}`, rules, destination);
    return compileDestination(destination, sendRules);
  });
  const ids = compiled.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) < index);
  if (repeated !== undefined) throw createError(`two destinations have the id "${repeated}". Give each its own.`);
  return compiled;
}

function compileDestination(destination: NoticeDestination, sendRules: SendRules): CompiledDestination {
  const { id, kinds = noticeKinds, agents } = destination;
  if (!/^[\w.-]{1,100}$/.test(id))
    throw createError(`the id ${JSON.stringify(id)} is invalid: use 1 to 100 letters, digits and "_.-".`);
  const unknown = kinds.find((kind) => !noticeKinds.includes(kind));
  if (unknown !== undefined)
    throw createError(
      `the destination "${id}" has the kind ${JSON.stringify(unknown)}. Known kinds: ${noticeKinds.join(", ")}.`,
    );
  if (id.startsWith(pushPrefix))
    throw createError(`the id "${id}" is reserved: ids of browsers begin with "${pushPrefix}".`);
  const url = parseUrl(destination, sendRules);
  const keys = decodeSecrets(destination);
  const kindNames: readonly string[] = kinds;
  return {
    id,
    isBrowser: false,
    wants: ({ type, data }) =>
      kindNames.includes(type) && (agents === undefined || agents.includes(String(data.agent))),
    createRequest({ deliveryId, now, notice }) {
      const body = JSON.stringify(notice);
      return { url, body, headers: createSignedHeaders({ id: deliveryId, now, body, keys }) };
    },
  };
}

function parseUrl({ id, url: text }: NoticeDestination, sendRules: SendRules): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["https:", "http:"].includes(url.protocol) || url.username !== "" || url.password !== "")
    throw createError(`the URL of the destination "${id}" must be an https URL without a user name and password.`);
  const refusal = findAddressRefusal(url, sendRules);
  if (refusal !== null) throw createError(`the destination "${id}" cannot be reached: ${refusal}`);
  return url;
}

function decodeSecrets({ id, secret }: NoticeDestination): readonly Uint8Array[] {
  const given: readonly unknown[] = [secret].flat();
  const keys = given.map((one) => (typeof one === "string" ? decodeSecret(one) : null));
  if (keys.length === 0 || keys.length > 2 || !keys.every((key) => key !== null))
    throw createError(
      `the destination "${id}" needs a secret: whsec_ and 24 to 64 bytes in base64, for example whsec_$(openssl rand -base64 32). An environment variable may be missing.`,
    );
  return keys;
}

function decodeSecret(secret: string): Uint8Array | null {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return null;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return key.length >= 24 && key.length <= 64 ? key : null;
}

function createError(text: string): PawlError {
  return new PawlError("bad_configuration", `createNotices(): ${text}`);
}
