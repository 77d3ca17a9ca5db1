/**
 * A travel agency to measure evals with: a concierge that hands over to billing, a durable tool that asks a person, the calendar of an
 * MCP server, a guard, and a reminder. The model is a stand-in that follows the sentences of its prompt. faults.md lists what `fault`
 * changes.
 */
import { createHash } from "node:crypto";
import { createAgent, createMemoryStore, defineTool } from "../../dist/index.js";

/** A number from 0 up to 1 that follows from these parts. */
const draw = (...parts) => createHash("sha256").update(JSON.stringify(parts)).digest().readUInt32BE(0) / 2 ** 32;

const conciergeRules = [
  "You are the concierge of a travel agency.",
  "Look the trip up before anything else.",
  "Ask the calendar before you book, and book for tomorrow unless the traveller says otherwise.",
  "After a booking, remind the traveller three hours before.",
  "Hand everything that costs or returns money over to billing.",
];
const billingRules = [
  "You do the billing of a travel agency.",
  "Confirm the amount in writing after a charge or a refund.",
  "Answer with what you did.",
];

export function tripOf(trip) {
  const number = Number(trip);
  return {
    trip,
    to: ["Lisbon", "Oslo", "Rome", "Porto"][number % 4],
    seat: `${10 + (number % 20)}${"ACDF"[number % 4]}`,
    cents: 20_000 + ((number * 7_919) % 180_000),
    itinerary: `Day by day: ${"walk, eat, see a museum, rest. ".repeat(150)}`,
  };
}

const textIn = (message) => message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
const outputIn = ({ output }) =>
  output.type === "json" ? JSON.stringify(output.value) : output.type === "text" ? output.text : "";

/**
 * `noise`: the share of sessions in which it words something otherwise or looks twice. `twice`: the share of bookings that it makes twice.
 * `salt`: another draw.
 */
export function createStandIn({ id = "large", noise = 0, twice = 0, salt = "" } = {}) {
  return {
    id,
    contextWindow: 40_000,
    async *stream(request) {
      const repetition = /\.(\d+)$/.exec(request.sessionId)?.[1] ?? "0";
      const { text, calls = [] } = answer(request, { noise, twice, salt: `${salt}/${repetition}` });
      const input = JSON.stringify([request.systemPrompt, request.tools, request.messages]).length;
      if (text !== undefined) {
        yield { kind: "text-start", id: "1" };
        yield { kind: "text-delta", id: "1", text };
        yield { kind: "text-end", id: "1" };
      }
      for (const [index, { name, input: given }] of calls.entries())
        yield { kind: "tool-call", id: `c${request.modelCallIndex}_${index}`, name, input: JSON.stringify(given) };
      yield {
        kind: "done",
        finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop" },
        usage: {
          inputTokens: Math.round(input / 4),
          outputTokens: Math.round(10 + JSON.stringify([text, calls]).length / 4),
        },
      };
    },
  };
}

function answer(request, { noise, twice, salt }) {
  const { systemPrompt = "", messages, tools, purpose } = request;
  const everything = JSON.stringify(messages);
  const trip = /trip (\d+)/.exec(everything)?.[1] ?? "0";
  // A summary of a careless model: it keeps the trip, and not the seat.
  if (purpose === "compaction") return { text: `The traveller asked about trip ${trip}.` };
  const turns = messages.filter(({ role }) => role === "user");
  const request1 = textIn(turns[0] ?? { parts: [] });
  const now = textIn(turns.at(-1) ?? { parts: [] });
  const from = messages.lastIndexOf(turns.at(-1));
  const results = new Map();
  const earlier = new Map();
  for (const [index, message] of messages.entries())
    if (message.role === "tool")
      for (const part of message.parts) {
        const target = index > from ? results : earlier;
        target.set(part.name, [...(target.get(part.name) ?? []), outputIn(part)]);
      }
  const has = (name) => tools.some((tool) => tool.name === name);
  const minds = (words) => systemPrompt.includes(words);
  const call = (name, input) => ({ calls: [{ name, input }] });
  const reword = (text) => ({ text: draw("word", trip, now, salt) < noise * 3 ? `${text} Anything else?` : text });
  const known = (name) => results.get(name)?.[0] ?? earlier.get(name)?.[0];
  const found = JSON.parse(known("look_up_trip") ?? "{}");

  if (systemPrompt.startsWith("You do the billing")) {
    const cents = found.cents ?? 30_000;
    const isRefund = /refund/i.test(request1);
    const action = isRefund ? "refund" : "charge";
    if (!results.has(action)) return call(action, { trip, cents });
    const outcome = results.get(action)[0];
    if (/declined|denied|not /i.test(outcome)) return reword(`The ${action} for trip ${trip} was not made.`);
    if (minds("Confirm the amount in writing") && !results.has("send_confirmation"))
      return call("send_confirmation", { trip, cents });
    return reword(`${outcome}.`);
  }

  if (minds("Look the trip up") && known("look_up_trip") === undefined && !everything.includes("was asked about trip"))
    if (!/asked about trip/.test(everything)) return call("look_up_trip", { trip });
  if (draw("again", trip, salt) < noise / 2 && results.get("look_up_trip")?.length === 1)
    return call("look_up_trip", { trip });
  if (/refund|upgrade/i.test(now)) {
    if (has("transfer_to_billing") && minds("Hand everything")) return call("transfer_to_billing", {});
    return reword(`I have noted your wish for trip ${trip}.`);
  }
  if (/seat/i.test(now)) return reword(`Your seat is ${found.seat ?? "not known to me"}.`);
  if (/again/i.test(now)) {
    if (!results.has("book")) return call("book", { trip, slot: "09:00" });
    return reword(
      /booked/.test(results.get("book")[0]) ? `Trip ${trip} is booked.` : `Trip ${trip} was booked before.`,
    );
  }
  // A booking.
  const today = /today[^0-9]*(\d{4}-\d\d-\d\d)/i.exec(`${systemPrompt}${everything}`)?.[1];
  const day = today === undefined ? "tomorrow" : new Date(Date.parse(today) + 86_400_000).toISOString().slice(0, 10);
  const calendar = tools.find(({ name }) => name === "calendar_find_slots");
  const [argument = "date"] = Object.keys(calendar?.inputSchema.properties ?? {});
  if (minds("Ask the calendar") && calendar !== undefined && !results.has("calendar_find_slots"))
    return call("calendar_find_slots", { [argument]: day });
  if (!results.has("book")) return call("book", { trip, slot: "09:00" });
  if (draw("twice", trip, salt) < twice && results.get("book").length === 1)
    return call("book", { trip, slot: "14:00" });
  const zone = /zone[^+]*\+(\d+)/i.exec(`${systemPrompt}${everything}`)?.[1];
  if (minds("remind the traveller") && !results.has("remind"))
    return call("remind", { at: `${day}T0${zone === undefined ? 8 : 6}:00:00Z` });
  return reword(`Trip ${trip} to ${found.to} is booked for ${day}.`);
}

const string = { type: "string" };
const object = (properties) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** @param effects gets a name for each effect outside; `calendar`: the tools of the server, or none if the case has them */
export function createAgency(model, { effects = [], store, fault, calendar = [] } = {}) {
  const act = (name, result) => {
    effects.push(name);
    return result;
  };
  const tool = (name, input, execute, more = {}) =>
    defineTool({ name, description: `It does: ${name}.`, input, execute, ...more });
  const shared = {
    model,
    ...(store === undefined ? {} : { store }),
    ...(fault === "forgets" ? { compaction: { triggerRatio: 0.05, targetRatio: 0.02, keepTurns: 1 } } : {}),
    limits: { maxSteps: fault === "limit" ? 3 : 12 },
    usage: { prices: { large: { input: 2, output: 10 }, small: { input: 0.2, output: 1 } } },
  };
  const money = object({ trip: string, cents: { type: "integer" } });
  const billing = createAgent({
    ...shared,
    name: "billing",
    systemPrompt: billingRules.filter((rule) => fault !== "billing-rule" || !rule.startsWith("Confirm")).join("\n"),
    tools: [
      tool(
        "charge",
        money,
        async ({ cents }, context) => {
          if (cents > 100_000 && fault !== "question-gone") {
            const answered = await context.ask({ message: `Charge ${cents}?`, schema: { type: "boolean" } });
            if (answered.type !== "answered" || !answered.value) return "declined";
          }
          return context.step("charge", () => act("charge", `charged ${cents}`));
        },
        { durable: true },
      ),
      tool("refund", money, ({ cents }) => act("refund", `refunded ${cents}`), {
        needsApproval: ({ cents }) => cents > 90_000,
      }),
      tool("send_confirmation", money, ({ cents }) => act("mail", `confirmed ${cents}`)),
    ],
  });
  const guard = {
    name: "books-once",
    beforeToolCall: ({ name, input }, { data }) =>
      name === "book" && data[`trip ${input.trip}`] !== undefined
        ? { block: "This trip is booked already." }
        : undefined,
  };
  return createAgent({
    ...shared,
    name: "concierge",
    systemPrompt: conciergeRules.join("\n"),
    context: {
      data: {
        ...(fault === "date-gone" ? {} : { today: "Today is 2026-11-28." }),
        ...(fault === "zone" ? {} : { place: "The traveller's time zone is UTC+2." }),
      },
    },
    tools: [
      tool("look_up_trip", object({ trip: string }), ({ trip }) => act("look", tripOf(trip)), { readOnly: true }),
      tool("book", object({ trip: string, slot: string }), ({ trip, slot }, { data }) => {
        data.set(`trip ${trip}`, slot);
        return act("book", `booked ${slot}`);
      }),
      tool("remind", object({ at: string }), ({ at }) => act("remind", `reminds at ${at}`)),
      ...calendar,
    ],
    hooks: fault === "guard-gone" ? [] : [guard],
    handoffs:
      fault === "handoff-gone" ? [] : [{ name: "billing", description: "Charges and refunds.", agent: () => billing }],
  });
}

/** What travellers ask for: bookings that some repeat, refunds, upgrades, and questions about a seat. */
export const requests = Array.from({ length: 100 }, (_, index) => {
  const trip = 1_000 + index * 13;
  const kinds = [
    ["Book trip %.", "Book it again, to be sure."],
    ["Book trip %."],
    ["I want a refund for trip %."],
    ["Please refund trip %."],
    ["I want an upgrade of trip %."],
    ["Upgrade trip %, please."],
    ["What is trip %?", "Which seat do I have?"],
    ["Book trip %."],
    ["Tell me about trip %.", "Which seat is mine?"],
    ["Book trip %.", "Again, please book it."],
  ];
  return {
    sessionId: `t${String(index).padStart(3, "0")}`,
    turns: kinds[index % kinds.length].map((text) => text.replace("%", trip)),
  };
});

/** Runs a request as it happened. The person approves, but for trips whose number ends with 5. */
export async function record(agent, { sessionId, turns }) {
  for (const turn of turns) {
    let result = await agent.run(turn, { sessionId });
    while (result.status === "awaiting_human") {
      for (const { callKey, why, input } of result.approvals) {
        const isGood = !String(input.trip).endsWith("5");
        const decision =
          why === "tool"
            ? { type: "reply", value: isGood }
            : isGood
              ? { type: "approve" }
              : { type: "deny", note: "Not this one." };
        await agent.session(sessionId).answer(callKey, decision);
      }
      result = await agent.session(sessionId).resume();
    }
    if (result.status !== "completed")
      throw new Error(`${sessionId}: ${result.status} ${JSON.stringify(result.error ?? result.reason)}`);
  }
}

export const newStore = () => createMemoryStore();
