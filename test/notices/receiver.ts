/**
 * A receiver of webhooks on this machine.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** The options of notices that may reach the receiver. */
export const local = { allowAddresses: ["127.0.0.1"] };

type Received = { readonly headers: IncomingHttpHeaders; readonly body: string };

/** @param respond returns the status of a request, of which this is the how manyth */
export async function startReceiver(respond: (count: number) => number | Promise<number> = () => 204) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    received.push({ headers: request.headers, body });
    response.writeHead(await respond(received.length), { location: "http://127.0.0.1:1/elsewhere" }).end("thanks");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?token=hidden` };
}
