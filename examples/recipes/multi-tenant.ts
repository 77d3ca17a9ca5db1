/**
 * Several customers on one server: people see the sessions of their own company only, colleagues answer what waits, and
 * tools read the data of the company that the session belongs to.
 */
import assert from "node:assert/strict";
import { createAgent, createClient, defineTool, type Store } from "pawl";
import { createServer, createToken, type May, type Principal, type Scope } from "pawl/server";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

// Who is who: your logins. A principal is named by its company and itself, and the log keeps that name.
type Login = { readonly tenant: string; readonly person: string; readonly role: "agent user" | "team lead" };

const scopesOf: { readonly [Role in Login["role"]]: readonly Scope[] } = {
  "agent user": ["read", "run"],
  "team lead": ["read", "run", "approve"],
};

function principalOf({ tenant, person, role }: Login): Principal {
  return { id: `${tenant}/${person}`, scopes: scopesOf[role] };
}

function tenantOf(principal: string | undefined): string {
  const tenant = principal?.split("/")[0];
  if (tenant === undefined || tenant === "") throw new Error("The session belongs to nobody.");
  return tenant;
}

/** Colleagues share what their company has. People who may not answer use their own sessions only. */
const may: May = ({ id, scopes }, _action, session) => {
  if (session === null) return true; // the scope was checked
  const owner = session.info?.principal;
  if (owner === undefined || tenantOf(owner) !== tenantOf(id)) return false;
  return owner === id || scopes.includes("approve");
};

/** The tool goes by whom the session belongs to. The model cannot name another company. */
function createInvoiceTool(invoices: ReadonlyMap<string, readonly string[]>) {
  return defineTool({
    name: "list_invoices",
    description: "Lists the open invoices of the customer.",
    input: { type: "object", additionalProperties: false },
    readOnly: true,
    needsApproval: true,
    execute: (_input, { principal }) => invoices.get(tenantOf(principal)) ?? [],
  });
}

function createService(store: Store, logins: ReadonlyMap<string, Login>) {
  const invoices = new Map([
    ["acme", ["A-1: 90 EUR"]],
    ["globex", ["G-7: 12 EUR", "G-8: 40 EUR"]],
  ]);
  const agent = createAgent({
    name: "books",
    model: createScriptedModel(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { text: JSON.stringify(messages.at(-1)) }
        : { calls: [{ name: "list_invoices" }] },
    ),
    tools: [createInvoiceTool(invoices)],
    store,
  });
  return createServer({
    store,
    agents: [agent],
    may,
    authenticate({ headers }) {
      const login = logins.get(headers.get("authorization")?.replace("Bearer ", "") ?? "");
      return login === undefined ? null : principalOf(login);
    },
  });
}

// The check: two companies. Ada of Acme asks, Bob leads her team, and Gil is of Globex.
const tokens = { ada: createToken(), bob: createToken(), gil: createToken() };
const store = await openSqliteStore({ path: "sessions.db" });
const server = createService(
  store,
  new Map<string, Login>([
    [tokens.ada, { tenant: "acme", person: "ada", role: "agent user" }],
    [tokens.bob, { tenant: "acme", person: "bob", role: "team lead" }],
    [tokens.gil, { tenant: "globex", person: "gil", role: "team lead" }],
  ]),
);

type Answered = { readonly status: number; readonly json: { readonly [name: string]: unknown } };

async function ask(who: keyof typeof tokens, path: string, body?: object): Promise<Answered> {
  const response = await server.fetch(
    new Request(`http://localhost/v1${path}`, {
      headers: { authorization: `Bearer ${tokens[who]}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    }),
  );
  return { status: response.status, json: (await response.json()) as Answered["json"] };
}

const begun = await ask("ada", "/sessions", { agent: "books", input: "What is open?" });
const path = `/sessions/${begun.json.sessionId}`;
const asked = await ask("ada", `${path}/runs/${begun.json.runId}?wait=30`);
assert.equal(asked.json.status, "awaiting_human");

// A stranger finds neither the session nor what waits in it, and cannot tell it from one that there is not.
assert.equal((await ask("gil", path)).status, 404);
assert.deepEqual((await ask("gil", "/approvals")).json.approvals, []);
assert.deepEqual((await ask("gil", "/sessions")).json.sessions, []);
// Ada may ask, and not allow. Bob may.
assert.equal((await ask("ada", "/approvals")).status, 403);
const [waiting] = (await ask("bob", "/approvals")).json.approvals as { callKey: string; inputHash: string }[];
assert.ok(waiting);
const decision = { type: "approve" };
const answer = { callKey: waiting.callKey, inputHash: waiting.inputHash, decision };
assert.equal((await ask("gil", `${path}/answers`, answer)).status, 404);
assert.equal((await ask("bob", `${path}/answers`, answer)).json.counted, "first");

for await (const event of createClient({ store }).session(String(begun.json.sessionId)).events())
  if (event.type === "final") break;
const result = await ask("ada", `${path}/runs/${begun.json.runId}`);
assert.match(String(result.json.text), /A-1: 90 EUR/);
assert.doesNotMatch(String(result.json.text), /G-7/);
console.log("Ada asked, Bob allowed it, and both saw the invoices of Acme. Gil saw nothing.");

await server.close();
await store.close();
