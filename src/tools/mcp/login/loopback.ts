/**
 * The local server that a person's browser is redirected to after a login (RFC 8252). It serves one login.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { untilAborted } from "../../../platform/until-aborted.js";

export type Loopback = {
  /** The redirect address. */
  readonly address: string;
  /** Waits for the redirect. @throws Error if the login was refused, takes too long or is aborted */
  readonly waitForCode: (waitMs: number, signal: AbortSignal) => Promise<LoginCode>;
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
    const { pathname, searchParams } = readTarget(request.url);
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
    async waitForCode(waitMs, signal) {
      return readCode(await waitForPerson(received, waitMs, signal));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The longest time for which Node can set a timer. A longer wait has no limit but the signal. */
const maxTimerMs = 2 ** 31 - 1;

/** @throws Error if the person takes too long; the signal's reason if it is aborted */
export async function waitForPerson<Value>(wait: Promise<Value>, waitMs: number, signal: AbortSignal): Promise<Value> {
  const late = new AbortController();
  const giveUp = () => late.abort(new Error(`Nobody logged in within ${waitMs} ms.`));
  const timer = waitMs <= maxTimerMs ? setTimeout(giveUp, waitMs) : undefined;
  try {
    return await untilAborted(wait, AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}

/** The path and the query of a request. Any page can send one, so it may be malformed: `//` is not a relative address, for example. */
function readTarget(target = "/"): Pick<URL, "pathname" | "searchParams"> {
  const address = `http://127.0.0.1${target.startsWith("/") ? target : "/"}`;
  return URL.canParse(address) ? new URL(address) : new URL("http://127.0.0.1/");
}

/** @throws Error if the login was refused */
export function readCode(parameters: URLSearchParams): LoginCode {
  const code = parameters.get("code");
  // Without a code the issuer is not verified, so its error text is not shown.
  if (code === null || code.length > maxCodeCharacters) throw new Error("The login was refused.");
  return { code, iss: parameters.get("iss") ?? undefined };
}
