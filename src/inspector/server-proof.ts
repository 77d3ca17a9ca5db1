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
export async function proves(base: string, half: string): Promise<Proof> {
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) return "proved";
  const nonce = hexOf(crypto.getRandomValues(new Uint8Array(16)));
  const response = await fetch(`${base}/v1/ui/proof?nonce=${nonce}`, { credentials: "same-origin", cache: "no-store" });
  const answer = (await response.json().catch(() => null)) as { readonly page?: unknown } | null;
  if (response.status >= 500) throw new TypeError("The server does not answer.");
  if (!response.ok || answer === null || typeof answer.page !== "string")
    return response.ok && answer?.page === null ? "unknown_page" : "stranger";
  const text = new TextEncoder();
  const key = await subtle.importKey("raw", text.encode(half), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const expected = await subtle.sign("HMAC", key, text.encode(`${location.host}\0${nonce}`));
  return answer.page === hexOf(new Uint8Array(expected)) ? "proved" : "stranger";
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
