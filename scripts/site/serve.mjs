/** Serves a folder of files on this machine: for looking at the site, and for its tests. */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, resolve, sep } from "node:path";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

/** @returns `{ url, close }` when the server listens; port 0 takes a free one */
export function serve(folder, port = 0) {
  const root = resolve(folder);
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://127.0.0.1").pathname);
    const named = resolve(join(root, path));
    const file = existsSync(named) && statSync(named).isDirectory() ? join(named, "index.html") : named;
    if (!file.startsWith(root + sep) || !existsSync(file)) {
      response.writeHead(404, { "content-type": "text/plain" }).end("There is no such page.");
      return;
    }
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  return new Promise((done, failed) => {
    server.once("error", failed);
    server.listen(port, "127.0.0.1", () => {
      const close = () =>
        new Promise((closed) => {
          server.close(closed);
          server.closeAllConnections();
        });
      done({ url: `http://127.0.0.1:${server.address().port}`, close });
    });
  });
}
