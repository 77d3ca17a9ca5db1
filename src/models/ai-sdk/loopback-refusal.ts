/**
 * Detects a connection that was refused on this machine: the server is not running, or its address is wrong. Unlike a remote
 * server, it does not come back after a wait.
 */

type SystemError = Error & { readonly code?: unknown; readonly address?: unknown; readonly port?: unknown };

/** The address that refused, for example `127.0.0.1:8080`; undefined for any other error. */
export function findRefusedLoopback(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    const { code, address, port } = current as SystemError;
    if (code === "ECONNREFUSED" && typeof address === "string")
      return isLoopback(address) ? `${address.includes(":") ? `[${address}]` : address}:${port}` : undefined;
    // `localhost` resolves to several addresses, all of which refused.
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return undefined;
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}
