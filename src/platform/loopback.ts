/**
 * Recognizes addresses of this machine.
 */

/** @param host a host name or an IP address; IPv6 addresses with or without brackets */
export function isLoopbackHost(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "::1" ||
    host === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}

/** Whether secrets may be sent to an address: only over TLS, or to this machine. */
export function isSafeForSecrets(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}
