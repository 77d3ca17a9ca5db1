/**
 * Makes the program at this page's address prove that it is the server that gave the page access. The server must know the second
 * half, which the page does not send for this. The browser sends the cookie, which is worthless without the half.
 */

export type Proof = "proved" | "unknown_page" | "stranger";

/**
 * Browsers provide the cryptography on HTTPS and on this machine's own addresses. Elsewhere, the traffic can be read anyway, so
 * the page trusts the server without a proof.
 * @throws TypeError if there is no response
 */
export async function verifyServer(base: string, half: string): Promise<Proof> {
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) return "proved";
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
  const response = await fetch(`${base}/v1/ui/proof?nonce=${nonce}`, { credentials: "same-origin", cache: "no-store" });
  const reply = (await response.json().catch(() => null)) as { readonly page?: unknown } | null;
  if (response.status >= 500) throw new TypeError("The server is not responding.");
  if (!response.ok || reply === null || typeof reply.page !== "string")
    return response.ok && reply?.page === null ? "unknown_page" : "stranger";
  const encoder = new TextEncoder();
  const key = await subtle.importKey("raw", encoder.encode(half), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const expected = await subtle.sign("HMAC", key, encoder.encode(`${location.host}\0${nonce}`));
  return reply.page === toHex(new Uint8Array(expected)) ? "proved" : "stranger";
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
