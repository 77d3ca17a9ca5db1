/**
 * A webhook for approvals: each call that waits is posted to an address of yours, signed. Whoever gets it answers
 * through the server.
 */
import assert from "node:assert/strict";
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createAgent, defineTool, pendingApprovals, type Store } from "pawl";
import { createServer, createToken, type Principal } from "pawl/server";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

type Hook = { readonly url: string; readonly secret: string; readonly signal: AbortSignal };

/**
 * Posts each call that waits, until it is taken. It keeps nothing: after a restart it posts what still waits again,
 * under the same id, so the receiver drops what it has seen.
 */
async function postApprovals(store: Store, { url, secret, signal }: Hook): Promise<void> {
  const taken = new Set<string>();
  while (!signal.aborted) {
    for await (const { sessionId, callKey, name, input, inputHash, question, askedAt } of pendingApprovals(store)) {
      const id = `${sessionId}/${callKey}/${inputHash}`;
      if (taken.has(id)) continue;
      const body = JSON.stringify({ id, sessionId, callKey, name, input, inputHash, question, askedAt });
      const headers = { "content-type": "application/json", "x-signature": signatureOf(body, secret) };
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
      const answer = await fetch(url, { method: "POST", body, headers, signal: timeout }).catch(() => null);
      if (answer?.ok === true) taken.add(id); // else it is posted again
    }
    await sleep(500, undefined, { signal }).catch(() => {});
  }
}

function signatureOf(body: string, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}

/** The body of a request, if whoever posted it has the secret. */
async function signedBody(request: IncomingMessage, secret: string): Promise<Record<string, string> | null> {
  let body = "";
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > 1_048_576) return null;
  }
  const given = Buffer.from(String(request.headers["x-signature"]));
  const wanted = Buffer.from(signatureOf(body, secret));
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? JSON.parse(body) : null;
}

// The service: the receiver may see and answer what waits, and do nothing else.
const token = createToken();
const receiverPrincipal: Principal = { id: "approval-desk", scopes: ["approve"] };
const store = await openSqliteStore({ path: "sessions.db" });
const refunds: unknown[] = [];
const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  input: { type: "object", properties: { order: { type: "string" }, cents: { type: "integer" } } },
  needsApproval: ({ cents }) => Number(cents) > 5_000,
  execute(input) {
    refunds.push(input);
    return "refunded";
  },
});
const agent = createAgent({
  name: "support",
  model: createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: "Order 1041 is refunded." }
      : { calls: [{ name: "refund", input: { order: "1041", cents: 9_900 } }] },
  ),
  tools: [refund],
  store,
});
const server = createServer({
  store,
  agents: [agent],
  authenticate: ({ headers }) => (headers.get("authorization") === `Bearer ${token}` ? receiverPrincipal : null),
  may: ({ id }) => id === receiverPrincipal.id, // in all sessions, as far as its scope goes
});
const [service, serviceUrl] = await listen(createHttpServer(server.httpOptions, server.listener));

// The receiver: any program with the secret of the hook and a token. This one approves up to 100 euros.
const secret = createToken();
const seen: string[] = [];
const [receiver, receiverUrl] = await listen(
  createHttpServer(async (request, response) => {
    const asked = await signedBody(request, secret);
    if (asked === null) return void response.writeHead(401).end();
    response.writeHead(204).end(); // taken: what follows takes as long as a person needs
    seen.push(String(asked.id));
    if (seen.length === 1) return; // the check: whoever took it dies before it has answered
    const { sessionId, callKey, inputHash, input } = asked as typeof asked & { readonly input: { cents: number } };
    const decision = input.cents <= 10_000 ? { type: "approve" } : { type: "deny", note: "Ask your team lead." };
    await fetch(`${serviceUrl}/v1/sessions/${sessionId}/answers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ callKey, inputHash, decision }),
    });
  }),
);

async function listen(http: Server): Promise<readonly [Server, string]> {
  await once(http.listen(0, "127.0.0.1"), "listening");
  return [http, `http://127.0.0.1:${(http.address() as AddressInfo).port}`];
}

// The check. The hook posts, and both it and the receiver die before anybody has answered.
const waiting = await agent.run("Refund order 1041: 99 euros", { sessionId: "ticket-7" });
assert.equal(waiting.status, "awaiting_human");
const first = new AbortController();
const posting = postApprovals(store, { url: receiverUrl, secret, signal: first.signal });
await once(receiver, "request");
first.abort();
await posting;
assert.deepEqual(refunds, []);

// The next one finds in the store what waits, and posts it again.
const second = new AbortController();
const again = postApprovals(store, { url: receiverUrl, secret, signal: second.signal });
for await (const event of agent.session("ticket-7").events()) if (event.type === "final") break;
second.abort();
await again;
assert.equal((await agent.session("ticket-7").result())?.text, "Order 1041 is refunded.");
assert.equal(refunds.length, 1);
assert.equal(seen.length, 2);
assert.equal(seen[0], seen[1]);
const forged = await fetch(receiverUrl, { method: "POST", body: "{}", headers: { "x-signature": "00" } });
assert.equal(forged.status, 401);
console.log(`${seen[0]} was posted twice under one id, approved by ${receiverPrincipal.id}, and ran once.`);

receiver.close();
await server.close();
service.close();
await store.close();
