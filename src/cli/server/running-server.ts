/**
 * Finds the running server of this machine's sessions: `pawl ui` gets a link from it, and does not start a second one.
 *
 * 1. A file in the home folder has its address and its token. Only the file's owner can read it.
 * 2. Each store has its own file, so that a link never shows the sessions of another store.
 * 3. The file may be left over from a killed process, and another user of this machine may listen on its port. So the server
 *    must first prove that it knows the key in the file. The token follows on the same connection.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";

export type RunningServer = {
  readonly url: string;
  readonly token: string;
  /** The key with which the server proves that it belongs to this home folder. */
  readonly proofKey: string;
};

/** Derives the key with which a server with this secret proves itself at `/v1/ui/proof`. */
export function deriveProofKey(secret: string): string {
  return createHmac("sha256", secret).update("server proof\0").digest("hex");
}

/** The timeout of a response; milliseconds. */
const responseTimeoutMs = 2_000;

/**
 * Writes the file of a running server. Returns a function that removes it.
 * @param store the address of its database; undefined if its sessions are in a file of the home folder
 */
export function recordServer(home: string, store: string | undefined, server: RunningServer): () => void {
  const text = `${JSON.stringify(server)}\n`;
  const path = resolveServerFile(home, store);
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600 });
  return () => {
    // Meanwhile, another server may have written the file.
    if (readFileOrNull(path) === text) rmSync(path, { force: true });
  };
}

/** A link from the running server of this store; null if none responds, or if another program does. */
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

/** The maximum length of a response; characters. */
const maxCharacters = 10_000;

/** Sends requests on the agent's only connection. A token is sent only on the connection that has proved itself. */
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
          if (text.length > maxCharacters) clientRequest.destroy(new Error("The response is too long."));
        });
        response.on("error", reject);
        response.on("end", () => {
          try {
            // The connection is free for the next request after this event.
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

/** The address of a database may contain a password, so the file name has its hash. */
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

/** The token is only sent to this machine, whatever the file says. A file of an earlier version has no key, and is ignored. */
function parseServerFile(text: string | null): RunningServer | null {
  try {
    const { url, token, proofKey } = JSON.parse(text ?? "") as { readonly [name: string]: unknown };
    const isLoopback = typeof url === "string" && /^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d{1,5}$/.test(url);
    return isLoopback && typeof token === "string" && typeof proofKey === "string" ? { url, token, proofKey } : null;
  } catch {
    return null;
  }
}
