/**
 * A push service on this machine, and a browser that subscribes to it. What arrives is verified by RFC 8292 and decrypted by RFC 8291.
 */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type Push = { readonly headers: IncomingHttpHeaders; readonly message: unknown; readonly claims: VapidClaims };
type VapidClaims = { readonly aud: string; readonly exp: number; readonly sub: string };

export type Subscriber = ReturnType<typeof createSubscriber>;

export function createSubscriber() {
  const ecdh = createECDH("prime256v1");
  const publicKey = ecdh.generateKeys();
  const auth = randomBytes(16);
  return { ecdh, secret: auth, p256dh: publicKey.toString("base64url"), auth: auth.toString("base64url") };
}

/** @param respond returns the status of a push, of which this is the how manyth */
export async function startPushService(respond: (count: number) => number = () => 201) {
  const subscriber = createSubscriber();
  const pushes: Push[] = [];
  const failures: unknown[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    try {
      const claims = verifyVapid(request.headers.authorization ?? "");
      const message = JSON.parse(decrypt(Buffer.concat(chunks), subscriber));
      pushes.push({ headers: request.headers, message, claims });
    } catch (error) {
      failures.push(error);
    }
    response.writeHead(respond(pushes.length)).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { p256dh, auth } = subscriber;
  return { origin, pushes, failures, subscription: { endpoint: `${origin}/push/abc`, p256dh, auth } };
}

/** @throws Error if it is not of the key that it names */
function verifyVapid(header: string): VapidClaims {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(header) ?? [];
  const [head = "", claims = "", signature = ""] = token.split(".");
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33).toString("base64url"), point.subarray(33).toString("base64url")];
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
  const isSigned = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  if (!isSigned) throw new Error("The token is not signed with its key.");
  return JSON.parse(Buffer.from(claims, "base64url").toString()) as VapidClaims;
}

export function decrypt(body: Buffer, { ecdh, secret }: Pick<Subscriber, "ecdh" | "secret">): string {
  const salt = body.subarray(0, 16);
  const sender = body.subarray(21, 21 + body.readUInt8(20));
  const encrypted = body.subarray(21 + sender.length);
  if (encrypted.length > body.readUInt32BE(16)) throw new Error("It has more than one record.");
  const derive = (input: Buffer, given: Buffer, info: Buffer, length: number) =>
    Buffer.from(hkdfSync("sha256", input, given, info, length));
  const context = Buffer.concat([Buffer.from("WebPush: info\0"), ecdh.getPublicKey(), sender]);
  const shared = derive(ecdh.computeSecret(sender), secret, context, 32);
  const key = derive(shared, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = derive(shared, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const decipher = createDecipheriv("aes-128-gcm", key, nonce);
  decipher.setAuthTag(encrypted.subarray(-16));
  const padded = Buffer.concat([decipher.update(encrypted.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  if (end === -1 || padded.subarray(end + 1).some((byte) => byte !== 0)) throw new Error("Its padding is wrong.");
  return padded.subarray(0, end).toString();
}
