/**
 * Hosts of URLs.
 */

/** The host of a URL as a name or an address. An IPv6 address has no brackets. */
export function getHost({ hostname }: Pick<URL, "hostname">): string {
  return hostname.replace(/^\[|\]$/g, "");
}
