/**
 * Options for the processes of a server that share a store: how they reach each other, and which addresses they connect to (SEC-19).
 */

import { isSecret, minSecretCharacters } from "../keys.js";
import { checkOptionNames, createConfigurationError } from "../option-checks.js";
import { createPasses, type Passes } from "./passes.js";

/** The other processes of a server. */
export type PeerOptions = {
  /**
   * The address at which the other processes reach this server: `http://10.0.0.5:4111`, with the base path if there is one, or
   * `unix:/path`. It is stored in the record of each session that this process holds. Default: none. Then this process can show the
   * streams of others, but no other process can show the streams of this one.
   */
  readonly address?: string;
  /** The shared secret of all processes: at least 32 characters. It is never sent. `createToken()` creates one. */
  readonly secret: string;
  /**
   * The addresses that this process may connect to. In a string, `*` matches a part of a name: `http://10.0.0.*:4111`.
   */
  readonly allow: readonly string[] | ((address: string) => boolean);
};

export type Peers = {
  readonly address: string | null;
  /** Whether this process may connect to an address from a store. */
  readonly isAllowed: (address: string) => boolean;
  readonly passes: Passes;
};

const optionNames: ReadonlySet<string> = new Set(["address", "secret", "allow"]);
const maxAddress = 500;

/** @throws PawlError `bad_configuration` */
export function checkPeers(options: PeerOptions | undefined): Peers | null {
  if (options === undefined) return null;
  if (typeof options !== "object" || options === null) throw createConfigurationError("peers must be an object.");
  checkOptionNames("peers", options, optionNames);
  const { address, secret, allow } = options;
  if (!isSecret(secret))
    throw createConfigurationError(
      `peers.secret must be a string of at least ${minSecretCharacters} characters. createToken() creates one.`,
    );
  if (address !== undefined && !isAddress(address))
    throw createConfigurationError(
      "peers.address must be like http://10.0.0.5:4111 or unix:/path: in lower case, without a trailing slash, default port, password or query.",
    );
  const isListed = typeof allow === "function" ? allow : createAddressMatcher(allow);
  return {
    address: address ?? null,
    isAllowed: (other) => isAddress(other) && isListed(other),
    passes: createPasses(secret),
  };
}

/** Whether a string is an address in canonical form, so that two addresses can be compared as strings. */
export function isAddress(text: string): boolean {
  if (typeof text !== "string" || text.length > maxAddress) return false;
  if (text.startsWith("unix:/")) return !/[\s\0]|\/\.{1,2}(?:\/|$)/.test(text);
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, origin, pathname } = new URL(text);
  if ((protocol !== "http:" && protocol !== "https:") || username !== "" || password !== "") return false;
  return text === `${origin}${pathname === "/" ? "" : pathname}` && !text.endsWith("/");
}

function createAddressMatcher(allow: readonly string[]): (address: string) => boolean {
  const isUsable =
    Array.isArray(allow) && allow.every((entry) => typeof entry === "string" && entry.length <= maxAddress);
  if (!isUsable)
    throw createConfigurationError("peers.allow must be an array of addresses, or a function of an address.");
  const patterns = allow.map((entry) => new RegExp(`^${entry.split("*").map(escapePattern).join("[A-Za-z0-9_-]+")}$`));
  return (address) => patterns.some((pattern) => pattern.test(address));
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
