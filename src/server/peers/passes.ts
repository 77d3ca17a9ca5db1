/**
 * How processes of one server show each other that they know the secret (SEC-19).
 *
 * 1. The secret is never sent. A request has a pass: a keyed hash of the time, the address that is asked and the session.
 *    A process that is asked by mistake, because its address was another's before, can do nothing with it.
 * 2. A pass is compared in constant time. It holds for five minutes, because clocks of machines differ.
 */
export type Passes = {
  /** The header `authorization` of a request. `now` is in epoch milliseconds. */
  readonly sign: (address: string, sessionId: string, now: number) => Promise<string>;
  readonly isValid: (header: string | null, address: string, sessionId: string, now: number) => Promise<boolean>;
};

const validForMs = 5 * 60_000;

export function createPasses(secret: string): Passes {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  let imported: ReturnType<typeof crypto.subtle.importKey> | null = null;
  const key = () => {
    imported ??= crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign", "verify"]);
    return imported;
  };
  const signed = (time: number, address: string, sessionId: string) =>
    encoder.encode(JSON.stringify(["pawl live 1", time, address, sessionId]));

  return {
    async sign(address, sessionId, now) {
      const mac = await crypto.subtle.sign("HMAC", await key(), signed(now, address, sessionId));
      return `Pawl-Peer ${now}.${hexOf(new Uint8Array(mac))}`;
    },
    async isValid(header, address, sessionId, now) {
      const [, time = "", mac = ""] = /^Pawl-Peer (\d{1,15})\.([0-9a-f]{64})$/.exec(header ?? "") ?? [];
      if (mac === "" || Math.abs(now - Number(time)) > validForMs) return false;
      return crypto.subtle.verify("HMAC", await key(), bytesOf(mac), signed(Number(time), address, sessionId));
    },
  };
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16);
  return bytes;
}
