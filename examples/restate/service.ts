/**
 * A service of Restate that carries out the sessions of an agent. Several may run at once: they share the store.
 *
 *     PORT          where Restate reaches it; 9080 unless set
 *     PAWL_STORE    postgres://…, or the path of a SQLite file; sessions.db unless set
 */
import { once } from "node:events";
import { createServer } from "node:http2";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { createAgent, defineTool } from "pawl";
import { chooseModel } from "pawl/models";
import { openPostgresStore } from "pawl/postgres";
import { pawlObject } from "pawl/restate";
import { openSqliteStore } from "pawl/sqlite";

const { PORT = "9080", PAWL_STORE = "sessions.db" } = process.env;
const store = PAWL_STORE.startsWith("postgres://")
  ? await openPostgresStore({ url: PAWL_STORE })
  : await openSqliteStore({ path: PAWL_STORE });

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
const agent = createAgent({ name: "support", model, tools: [refund], store });

const pawl = await pawlObject({ store, agents: [agent] });
const server = createServer(createEndpointHandler({ services: [pawl] })).listen(Number(PORT));
await once(server, "listening");
console.log(`Restate reaches the agent "support" at port ${PORT}.`);

process.once("SIGTERM", async () => {
  server.close();
  // What is cut off is interrupted. Restate has another service carry it on.
  await agent.shutdown({ graceMs: 30_000 });
  await store.close();
  process.exit(0);
});
