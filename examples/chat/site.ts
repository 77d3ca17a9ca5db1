/**
 * The files of the page, and who visits it.
 */
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Principal } from "pawl/server";

const folder = fileURLToPath(new URL("../page", import.meta.url));
const types: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Each browser is a visitor of its own: a random cookie, set with the page. Put the logins of your application here. */
export function visitorOf(request: Request): Principal | null {
  const visitor = /(?:^|; )visitor=([\w-]{43})(?:;|$)/.exec(request.headers.get("cookie") ?? "")?.[1];
  if (visitor === undefined) return null;
  // The log keeps the id, so it must not be the cookie itself.
  const id = createHash("sha256").update(visitor).digest("hex").slice(0, 16);
  return { id, scopes: ["read", "run", "approve"] };
}

/** Serves what Vite has built. Every file is read at the start, so a request names no file of this machine. */
export function servePage() {
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path.slice(folder.length).replaceAll("\\", "/"), readFileSync(path)];
      }),
  );
  return (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url === "/" ? "/index.html" : (request.url ?? "");
    const bytes = files.get(path);
    if (bytes === undefined) {
      response.writeHead(404).end("There is no such page.");
      return;
    }
    const isNew = visitorIn(request) === null;
    const cookie = `visitor=${randomBytes(32).toString("base64url")}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000`;
    response.writeHead(200, {
      "content-type": types[extname(path)] ?? "application/octet-stream",
      "cache-control": path.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-store",
      "content-security-policy": "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'",
      ...(path === "/index.html" && isNew ? { "set-cookie": cookie } : {}),
    });
    response.end(bytes);
  };
}

function visitorIn({ headers }: IncomingMessage): Principal | null {
  return visitorOf(new Request("http://localhost", { headers: { cookie: headers.cookie ?? "" } }));
}
