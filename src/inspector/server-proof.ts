/**
 * Asks what answers at this page's address to prove that it is the server that let the page in. The server
 * has to know the second half, which the page does not send for that. The browser sends the cookie, which is worth nothing without the half.
 */

export type Proof = "proved" | "unknown_page" | "stranger";

/**
 * Browsers have the means on HTTPS and on this machine's own addresses. Elsewhere everything can be read on the way anyway,
 * and the page takes the server for what it says.
 * @throws TypeError if nothing answers
 */
export async function verifyServer(base: string, half: string): Promise<Proof> {
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) return "proved";
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(16)));
  const response = await fetch(`${base}/v1/ui/proof?nonce=${nonce}`, { credentials: "same-origin", cache: "no-store" });
  const reply = (await response.json().catch(() => null)) as { readonly page?: unknown } | null;
  if (response.status >= 500) throw new TypeError("The server does not answer.");
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
