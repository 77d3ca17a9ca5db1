/**
 * One process of a fleet: it serves sessions over HTTP, and carries out what is due. Start as many as you like on one database.
 *
 *     PAWL_STORE    postgres://user@host/database; the password in PGPASSWORD
 *     PAWL_TOKEN    the token of its clients: at least 22 characters, the same in all processes
 *     HOST, PORT    where it listens; 127.0.0.1 and 4111 unless set
 *     HOSTS         the names by which clients reach it, with the port: sessions.example.org,localhost:4111
 */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createAgent, defineTool, PawlError } from "pawl";
import { chooseModel } from "pawl/models";
import { openPostgresStore } from "pawl/postgres";
import { createServer } from "pawl/server";

const { PAWL_STORE: url, PAWL_TOKEN: token, HOST = "127.0.0.1", PORT = "4111" } = process.env;
if (url === undefined || token === undefined)
  throw new PawlError("bad_configuration", "The service needs PAWL_STORE and PAWL_TOKEN in its environment.");
const hosts = (process.env.HOSTS ?? `localhost:${PORT}`).split(",");

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  input: {
    type: "object",
    properties: { order: { type: "string" }, cents: { type: "integer" } },
    required: ["order", "cents"],
  },
  needsApproval: ({ cents }) => Number(cents) > 5_000,
  // A shop that is given the key refunds once, however often the call is repeated.
  execute: ({ order, cents }, { idempotencyKey }) => `Refunded ${cents} cents of order ${order} (${idempotencyKey}).`,
});

const { model } = await chooseModel(); // a key in the environment, a model on this machine, or the demo model
const store = await openPostgresStore({ url });
const agent = createAgent({ name: "support", model, tools: [refund], store });
const server = createServer({ store, agents: [agent], token, hosts });
const http = createHttpServer(server.httpOptions, server.listener).listen(Number(PORT), HOST);
await once(http, "listening");
console.log(`Serving at ${HOST}:${PORT}.`);

// What stops containers and units. Streams are told to come back, what runs may settle, and the sessions are given back.
process.once("SIGTERM", async () => {
  await server.close();
  http.close();
  await store.close();
});
