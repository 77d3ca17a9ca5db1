/**
 * Tools that wait for days: for a payment, for a parcel that a service is asked about, and for a person who is reminded until they
 * answer. No process holds them meanwhile; the check has a new one each day.
 */
import assert from "node:assert/strict";
import {
  type Client,
  type Clock,
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  defineTool,
  pendingApprovals,
  type Store,
} from "pawl";
import { createScriptedModel, createTestClock } from "pawl/testing";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The systems around the tools. `mail` takes each key once. */
type World = {
  readonly mail: (to: string, text: string, key: string) => void;
  readonly findParcel: (parcel: string) => Promise<"on its way" | "delivered">;
};

/** The input of a tool that needs one string. */
const input = <const Name extends string>(name: Name) =>
  ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] }) as const;

function createPaymentTool({ mail }: World) {
  return defineTool({
    name: "await_payment",
    description: "Ships an order once it is paid.",
    input: input("order"),
    durable: true, // every effect is in a step, so the tool may run again after its wait
    async execute({ order }, { step, waitFor }) {
      const paid = await waitFor("payment", { key: `order-${order}-paid`, timeoutMs: 7 * dayMs });
      if (paid.type === "expired") return "Nobody paid within a week.";
      await step("ship", ({ idempotencyKey }) => mail("warehouse", `Ship order ${order}.`, idempotencyKey));
      return "It is paid, and on its way.";
    },
  });
}

function createParcelTool({ findParcel }: World) {
  return defineTool({
    name: "await_parcel",
    description: "Waits until a parcel is delivered.",
    input: input("parcel"),
    durable: true,
    async execute({ parcel }, { step, sleep }) {
      for (let pauseMs = minuteMs; ; pauseMs = Math.min(2 * pauseMs, 6 * hourMs)) {
        const found = await step("look", () => findParcel(String(parcel)), { retry: { attempts: 3 } });
        if (found === "delivered") return "It is delivered.";
        await sleep("pause", { ms: pauseMs });
      }
    },
  });
}

function createQuestionTool({ mail }: World) {
  return defineTool({
    name: "ask_customer",
    description: "Asks the customer, and reminds them each day.",
    input: input("question"),
    durable: true,
    async execute({ question }, { ask, step }) {
      for (let day = 1; day <= 5; day += 1) {
        const reply = await ask({ message: String(question), schema: { type: "string" }, expiresInMs: dayMs });
        if (reply.type === "answered") return `The customer says: ${reply.value}`;
        if (reply.type === "declined") return "The customer does not want to say.";
        await step("remind", ({ idempotencyKey }) => mail("customer", `Please answer: ${question}`, idempotencyKey));
      }
      return "The customer did not answer.";
    },
  });
}

// What your webhook calls, once its delivery is verified. The delivery's id makes one signal of a delivery that comes twice.
async function confirmPayment(client: Client, order: string, deliveryId: string): Promise<void> {
  await client.signal(`order-${order}-paid`, null, { id: deliveryId, by: "payments" });
}

/** The model calls the tool that the session is named after. */
function createDesk(store: Store, world: World, clock: Clock) {
  const calls: { readonly [tool: string]: { readonly [name: string]: string } } = {
    await_payment: { order: "1041" },
    await_parcel: { parcel: "P7" },
    ask_customer: { question: "Which colour?" },
  };
  const model = createScriptedModel(({ sessionId, modelCallIndex }) =>
    modelCallIndex === 1 ? { calls: [{ name: sessionId, input: calls[sessionId] ?? {} }] } : { text: "Done." },
  );
  const tools = [createPaymentTool(world), createParcelTool(world), createQuestionTool(world)];
  return createAgent({ name: "desk", model, tools, store, clock });
}

// The check: four days, each with a worker of its own, as if the one before had been killed.
async function check(): Promise<void> {
  const store = createMemoryStore();
  const clock = createTestClock(Date.UTC(2026, 0, 5, 9));
  const mails = new Map<string, string>();
  let isDelivered = false;
  let looks = 0;
  const world: World = {
    mail: (to, text, key) => void mails.set(key, `${to}: ${text}`),
    async findParcel() {
      looks += 1;
      return isDelivered ? "delivered" : "on its way";
    },
  };
  const passDay = async () => {
    await clock.advance(dayMs);
    const worked = createWorker({ store, agents: [createDesk(store, world, clock)], clock }).runUntilIdle();
    await clock.advance(0); // the clock of a test fires the timers that are due when it is moved
    await worked;
  };
  const statuses = async () => Object.fromEntries((await store.list()).map((one) => [one.sessionId, one.status]));

  const first = createDesk(store, world, clock);
  for (const sessionId of ["await_payment", "await_parcel", "ask_customer"]) await first.run("Go.", { sessionId });
  const waiting = { await_payment: "tool_running", await_parcel: "tool_running", ask_customer: "awaiting_human" };
  assert.deepEqual(await statuses(), waiting);
  for (const _ of [1, 2]) await passDay();
  assert.deepEqual(await statuses(), waiting);
  assert.equal(looks, 3);

  const client = createClient({ store, clock });
  for await (const { sessionId, callKey, questionId = "" } of pendingApprovals(store))
    await client.session(sessionId).answer(callKey, { type: "reply", value: "Blue" }, { questionId });
  for (const _ of ["", "again"]) await confirmPayment(client, "1041", "delivery-1");
  isDelivered = true;
  await passDay();
  assert.deepEqual(new Set(Object.values(await statuses())), new Set(["completed"]));
  assert.deepEqual([...mails.values()].sort(), [
    "customer: Please answer: Which colour?",
    "customer: Please answer: Which colour?",
    "warehouse: Ship order 1041.",
  ]);
  console.log("Paid, delivered and answered on the third day, after two reminders; each day had a worker of its own.");
}

await check();
