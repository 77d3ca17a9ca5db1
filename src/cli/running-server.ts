/**
 * The server of this machine's sessions that runs at present: `pawl ui` asks it for a link, and starts none beside it.
 *
 * 1. A file in the home folder says where it listens and has its token. Only its owner can read it.
 * 2. Each store has a file of its own, so that nobody is shown the sessions of another one.
 * 3. The file may be left over from a process that was killed. So a reader asks the server before it believes the file.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type RunningServer = { readonly url: string; readonly token: string };

/** How long a server may take to answer, in milliseconds. */
const answerMs = 2_000;

/**
 * Writes where the server listens. Gives a function that takes it back.
 * @param store the address of its database; undefined: its sessions are in a file of the home folder
 */
export function noteServer(home: string, store: string | undefined, server: RunningServer): () => void {
  const text = `${JSON.stringify(server)}\n`;
  const path = fileIn(home, store);
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600 });
  return () => {
    // Another server may have been started since.
    if (textOf(path) === text) rmSync(path, { force: true });
  };
}

/** A link of the server that runs at present on this store; null if none answers. */
export async function linkOfRunning(home: string, store: string | undefined): Promise<string | null> {
  const server = serverIn(textOf(fileIn(home, store)));
  if (server === null) return null;
  try {
    const response = await fetch(`${server.url}/v1/ui/codes`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      body: "{}",
      signal: AbortSignal.timeout(answerMs),
    });
    const { code } = (await response.json()) as { readonly code?: unknown };
    return typeof code === "string" ? `${server.url}/#start=${code}` : null;
  } catch {
    return null;
  }
}

/** The address of a database may hold a password, so the file has its hash. */
function fileIn(home: string, store = ""): string {
  const hash = createHash("sha256").update(store).digest("hex").slice(0, 16);
  return join(home, store === "" ? "server.json" : `server-${hash}.json`);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** The token goes to this machine only, whatever the file says. */
function serverIn(text: string | null): RunningServer | null {
  try {
    const { url, token } = JSON.parse(text ?? "") as { readonly url?: unknown; readonly token?: unknown };
    const isHere = typeof url === "string" && /^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d{1,5}$/.test(url);
    return isHere && typeof token === "string" ? { url, token } : null;
  } catch {
    return null;
  }
}
