/**
 * The local server that a person's browser is redirected to after a login (RFC 8252). It serves one login.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type Loopback = {
  /** The redirect address. */
  readonly address: string;
  /** Waits for the redirect. @throws Error if the login was refused or takes too long */
  readonly waitForCode: (waitMs: number) => Promise<LoginCode>;
  readonly close: () => void;
};

export type LoginCode = { readonly code: string; readonly iss: string | undefined };

const maxCodeCharacters = 4_096;

/**
 * @param port 0: any free port
 * @param state of the login; the redirect of another login gets an error page and changes nothing
 */
export async function openLoopback(port: number, state: string): Promise<Loopback> {
  let receive: (parameters: URLSearchParams) => void = () => {};
  const received = new Promise<URLSearchParams>((resolve) => {
    receive = resolve;
  });
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    const reply = (status: number, text: string) =>
      void response
        .writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" })
        .end(`${text}\n`);
    if (pathname !== "/callback") return reply(404, "Not found.");
    if (searchParams.get("state") !== state)
      return reply(400, "This redirect belongs to another login. Use the address that was printed last.");
    reply(200, "You can close this page and return to Pawl.");
    receive(searchParams);
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    async waitForCode(waitMs) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`Nobody logged in within ${waitMs} ms.`)), waitMs);
      });
      try {
        return readCode(await Promise.race([received, late]));
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function readCode(parameters: URLSearchParams): LoginCode {
  const code = parameters.get("code");
  // Without a code the issuer is not verified, so its error text is not shown.
  if (code === null || code.length > maxCodeCharacters) throw new Error("The login was refused.");
  return { code, iss: parameters.get("iss") ?? undefined };
}
