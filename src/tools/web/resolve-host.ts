/**
 * Resolves host names once, so that a connection goes to an address that was checked.
 */
import dns, { type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { untilAborted } from "../../platform/until-aborted.js";

/** @throws the signal's reason as soon as it is aborted; Error if there is no such host */
export async function resolveAddresses(host: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  signal.throwIfAborted();
  // A lookup cannot be aborted, but the wait for it can.
  return untilAborted(dns.promises.lookup(host, { all: true }), signal);
}

/** A lookup that always returns the checked addresses, so that the name is not resolved again. */
export function createFixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}
