/**
 * The server of this machine's sessions that runs at present: `pawl ui` asks it for a link, and starts none beside it.
 *
 * 1. A file in the home folder says where it listens and has its token. Only its owner can read it.
 * 2. Each store has a file of its own, so that nobody is shown the sessions of another one.
 * 3. The file may be left over from a process that was killed, and somebody else on this machine may listen on its port. So
 *    whoever answers has to prove first that it knows the key in the file. The token follows on the same connection.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";

export type RunningServer = {
  readonly url: string;
  readonly token: string;
  /** With it the server proves that it is the one of this home folder. */
  readonly proofKey: string;
};

/** The key with which a server with this secret proves itself at `/v1/ui/proof`. */
export function deriveProofKey(secret: string): string {
  return createHmac("sha256", secret).update("server proof\0").digest("hex");
}

/** How long a server may take to answer, in milliseconds. */
const responseTimeoutMs = 2_000;

/**
 * Writes where the server listens. Gives a function that takes it back.
 * @param store the address of its database; undefined: its sessions are in a file of the home folder
 */
export function recordServer(home: string, store: string | undefined, server: RunningServer): () => void {
  const text = `${JSON.stringify(server)}\n`;
  const path = resolveServerFile(home, store);
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600 });
  return () => {
    // Another server may have been started since.
    if (readFileOrNull(path) === text) rmSync(path, { force: true });
  };
}

/** A link of the server that runs at present on this store; null if it does not answer, or another program does. */
export async function fetchRunningServerLink(home: string, store: string | undefined): Promise<string | null> {
  const server = parseServerFile(readFileOrNull(resolveServerFile(home, store)));
  if (server === null) return null;
  const { url, token, proofKey } = server;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = createRequester(agent, AbortSignal.timeout(responseTimeoutMs));
  try {
    const nonce = randomBytes(16).toString("hex");
    const proof = await send(`${url}/v1/ui/proof?nonce=${nonce}`, null);
    const expected = createHmac("sha256", proofKey)
      .update(`${new URL(url).host}\0${nonce}`)
      .digest("hex");
    if (!isEqualSecret(Object(proof.json).server, expected)) return null;
    const { json } = await send(`${url}/v1/ui/codes`, { token, on: proof.socket });
    const { code } = Object(json) as { readonly code?: unknown };
    return typeof code === "string" ? `${url}/#start=${code}` : null;
  } catch {
    return null;
  } finally {
    agent.destroy();
  }
}

type ParsedResponse = { readonly json: unknown; readonly socket: Socket };

/** The most characters of an answer. */
const maxCharacters = 10_000;

/** A request by the agent's only connection. One with a token is sent on a connection that has proved itself, or not at all. */
function createRequester(agent: Agent, signal: AbortSignal) {
  return (url: string, authorized: { readonly token: string; readonly on: Socket } | null): Promise<ParsedResponse> =>
    new Promise((resolve, reject) => {
      const headers =
        authorized === null
          ? {}
          : { authorization: `Bearer ${authorized.token}`, "content-type": "application/json", "content-length": 2 };
      const clientRequest = request(url, { agent, signal, method: authorized === null ? "GET" : "POST", headers });
      clientRequest.on("error", reject);
      // Nothing is sent before `end`.
      clientRequest.on("socket", (socket) => {
        if (authorized !== null && socket !== authorized.on)
          clientRequest.destroy(new Error("The connection was lost."));
        else clientRequest.end(authorized === null ? undefined : "{}");
      });
      clientRequest.on("response", (response) => {
        const { socket } = response;
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (text.length > maxCharacters) clientRequest.destroy(new Error("The answer is too long."));
        });
        response.on("error", reject);
        response.on("end", () => {
          try {
            // The connection is free for the next request when this event is over.
            const json: unknown = JSON.parse(text);
            setImmediate(resolve, { json, socket });
          } catch (error) {
            reject(error);
          }
        });
      });
    });
}

function isEqualSecret(actual: unknown, expected: string): boolean {
  return (
    typeof actual === "string" &&
    actual.length === expected.length &&
    timingSafeEqual(Buffer.from(actual), Buffer.from(expected))
  );
}

/** The address of a database may hold a password, so the file has its hash. */
function resolveServerFile(home: string, store = ""): string {
  const hash = createHash("sha256").update(store).digest("hex").slice(0, 16);
  return join(home, store === "" ? "server.json" : `server-${hash}.json`);
}

function readFileOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** The token goes to this machine only, whatever the file says. A file of an earlier version has no key, and is left alone. */
function parseServerFile(text: string | null): RunningServer | null {
  try {
    const { url, token, proofKey } = JSON.parse(text ?? "") as { readonly [name: string]: unknown };
    const isLoopback = typeof url === "string" && /^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d{1,5}$/.test(url);
    return isLoopback && typeof token === "string" && typeof proofKey === "string" ? { url, token, proofKey } : null;
  } catch {
    return null;
  }
}
