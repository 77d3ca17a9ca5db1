import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type HandoffView,
  type Message,
  textOf,
} from "../../src/index.js";
import { modelRequests, traceSession } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createHandoffDesk, toBilling, toTriage } from "../support/handoff-desk.js";
import { verifies } from "../verifies.js";

type Filter = NonNullable<NonNullable<AgentOptions["handoffs"]>[number]["filter"]>;

const lookedUp: ScriptedStep = { text: "I look it up.", calls: [{ name: "look", input: { id: 7 } }] };

/** The desk, with a filter on the way from triage to billing. */
function filtering(filter: Filter, given: Partial<Parameters<typeof createHandoffDesk>[0]> = {}) {
  const made: { readonly agents: ReturnType<typeof createHandoffDesk> } = {
    agents: createHandoffDesk({
      triage: [lookedUp, toBilling],
      billing: [{ text: "Paid back." }],
      ...given,
      options: {
        ...given.options,
        triage: {
          ...given.options?.triage,
          handoffs: [{ name: "billing", description: "Payments.", agent: () => made.agents.billing, filter }],
        },
      },
    }),
  };
  return made.agents;
}

const shownTo = (model: { readonly requests: readonly { readonly messages: readonly Message[] }[] }, index = 0) =>
  model.requests[index]?.messages ?? [];
const wordsOf = (messages: readonly Message[]) => messages.map((message) => `${message.role}: ${textOf(message)}`);
const handedOff = (log: readonly { readonly event: { readonly type: string } }[]) =>
  log.flatMap(({ event }) => (event.type === "handed_off" ? [event] : []));

const requestsOf = async (store: ReturnType<typeof createHandoffDesk>["store"]) => {
  const requests = [];
  for await (const request of modelRequests(store, "s")) requests.push(request);
  return requests;
};

describe("what the next agent is shown", verifies("AGENT-1"), () => {
  test("as text: no call and no result is left, and the words are", async () => {
    const { triage, models, store } = filtering("text");
    expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    const shown = shownTo(models.billing);
    expect(shown.flatMap(({ parts }) => parts.map(({ type }) => type)).every((type) => type === "text")).toBe(true);
    expect(wordsOf(shown)).toEqual([
      "user: Pay me back.",
      'assistant: I look it up.[Called look: {"id":7}]',
      "user: [Note, not from the user: result of look: an order]",
      'assistant: [Called transfer_to_billing: {"message":"a refund"}]',
      "user: [Note, not from the user: result of transfer_to_billing: Handed over to billing.]",
    ]);
    expect(await requestsOf(store)).toEqual([...models.triage.requests, ...models.billing.requests]);
  });

  test("long results are cut, so that the whole fits into one entry", async () => {
    const { triage, models } = filtering("text", {
      triage: [...Array.from({ length: 200 }, (_, id) => ({ calls: [{ name: "look", input: { id } }] })), toBilling],
      options: { triage: { tools: [bigTool("look", 12_000)], compaction: null }, billing: { compaction: null } },
    });
    expect(await triage.run("Pay me back.", { limits: { maxSteps: 400 } })).toMatchObject({ status: "completed" });
    const shown = shownTo(models.billing);
    expect(shown.length).toBe(403);
    expect(JSON.stringify(shown).length).toBeLessThan(600_000);
    expect(textOf(shown[2] as Message)).toMatch(/x{200,} … \(12000 characters\)/);
  });

  test("the last turn: the input of the run and what came after it, by references", async () => {
    const { triage, models, store } = filtering("last_turn", { triage: [{ text: "Hello." }, toBilling] });
    await triage.run("Hi.", { sessionId: "s" });
    await triage.run("Pay me back.", { sessionId: "s" });
    expect(shownTo(models.billing).map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(textOf(shownTo(models.billing)[0] as Message)).toBe("Pay me back.");
    const [event] = handedOff(await store.read("s", 0, 100));
    expect(JSON.stringify(event)).not.toContain("Pay me back.");
    expect(event).toMatchObject({ messages: [expect.any(Array), expect.any(Array), expect.any(Array)] });
  });

  test("a list that ends with an assistant's text is followed by a message of the user", async () => {
    const onlyWords: Filter = ({ messages }) =>
      messages.flatMap((message): readonly Message[] => {
        if (message.role === "tool") return [];
        const parts = message.parts.filter(({ type }) => type === "text");
        return parts.length === 0 ? [] : [{ ...message, parts } as Message];
      });
    const { triage, models, store } = filtering(onlyWords);
    expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({
      status: "completed",
      text: "Paid back.",
    });
    expect(wordsOf(shownTo(models.billing))).toEqual([
      "user: Pay me back.",
      "assistant: I look it up.",
      "user: Go on.",
    ]);
    expect(await requestsOf(store)).toEqual([...models.triage.requests, ...models.billing.requests]);
    expect((await triage.session("s").replay()).difference).toBeNull();
  });

  test("a function: it leaves out, shortens and puts in front; later steps follow what it gave", async () => {
    const views: HandoffView[] = [];
    const note: Message = { role: "user", parts: [{ type: "text", text: "You take over." }] };
    const { triage, models, store } = filtering(
      (view) => {
        views.push(view);
        return [note, ...view.messages.filter(({ role }, index) => role === "user" || index > 2)];
      },
      { billing: [{ calls: [{ name: "refund" }] }, { text: "Paid back." }, { text: "Gladly." }] },
    );
    await triage.run("Pay me back.", { sessionId: "s" });
    await triage.run("Thanks.", { sessionId: "s" });
    const [view] = views;
    expect(view).toMatchObject({
      from: "triage",
      to: "billing",
      input: { message: "a refund" },
      run: { sessionId: "s" },
    });
    expect(Object.isFrozen(view) && Object.isFrozen(view?.messages) && Object.isFrozen(view?.messages[0])).toBe(true);
    expect(view?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "Handed over to billing." } }] });
    const roles = ["user", "user", "assistant", "tool"];
    expect(shownTo(models.billing).map(({ role }) => role)).toEqual(roles);
    expect(shownTo(models.billing, 1).map(({ role }) => role)).toEqual([...roles, "assistant", "tool"]);
    expect(wordsOf(shownTo(models.billing, 2)).slice(-2)).toEqual(["assistant: Paid back.", "user: Thanks."]);
    expect((await triage.session("s").messages())[0]).toEqual(note);
    expect(await requestsOf(store)).toEqual([...models.triage.requests, ...models.billing.requests]);
  });

  test("may be found asynchronously; there and back, each filter applies to what the one before left", async () => {
    const last = (view: HandoffView) => Promise.resolve(view.messages.slice(-2));
    const { triage, models, store } = filtering(last, {
      triage: [lookedUp, toBilling, { text: "Anything else?" }],
      billing: [{ calls: [{ name: "refund" }] }, toTriage],
    });
    expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(shownTo(models.triage, 2).map(({ role }) => role)).toEqual([
      ...["assistant", "tool", "assistant", "tool", "assistant", "tool"],
    ]);
    expect(await requestsOf(store)).toEqual([
      ...models.triage.requests.slice(0, 2),
      ...models.billing.requests,
      ...models.triage.requests.slice(2),
    ]);
  });

  test("a filter that fails, or gives what no provider takes, ends the run", async () => {
    const cases: readonly (readonly [Filter, RegExp])[] = [
      [() => [], /it has no messages/],
      [({ messages }) => messages.slice(0, -1), /results of its calls/],
      [({ messages }) => [...messages.slice(-2), ...messages.slice(0, 1)], /comes before/],
      [() => [{ role: "user", parts: [{ type: "text", text: "x".repeat(600_000) }] }], /more than 524288 bytes/],
      [() => "all" as never, /not an array/],
      [() => fails("lost"), /lost/],
      [async () => fails("lost later"), /lost later/],
    ];
    for (const [filter, message] of cases) {
      const { triage, models, store } = filtering(filter);
      expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({
        status: "failed",
        reason: "hook_failed",
        error: { message: expect.stringMatching(message) },
      });
      expect(models.billing.requests).toEqual([]);
      expect(handedOff(await store.read("s", 0, 100))).toEqual([]);
      expect((await triage.session("s").state()).session).toMatchObject({ agent: "triage" });
    }
  });

  test("forks and replays go by the log, and a replay asks no function", async () => {
    let asked = 0;
    const { triage } = filtering((view) => {
      asked += 1;
      return view.messages.slice(-2);
    });
    await triage.run("Pay me back.", { sessionId: "s" });
    expect((await triage.session("s").replay()).difference).toBeNull();
    const { seq } = await triage.session("s").state();
    for (let at = 1; at <= seq; at += 1) {
      const fork = await triage.session("s").fork({ at });
      expect((await fork.replay()).difference).toBeNull();
    }
    expect(asked).toBe(1);
  });

  test("a filter of an unknown name is refused", () => {
    const agent = () => createAgent({ name: "b", model: createScriptedModel([]) });
    const handoff = { name: "b", description: "b", agent, filter: "some" } as never;
    expect(() => createAgent({ model: createScriptedModel([]), handoffs: [handoff] })).toThrow(
      /filter.*"all", "text", "last_turn" or a function/s,
    );
  });
});

function fails(message: string): never {
  throw new Error(message);
}

function bigTool(name: string, characters: number) {
  return {
    name,
    description: "Gives much.",
    input: { type: "object" },
    maxOutputBytes: 100_000,
    execute: () => "x".repeat(characters),
  } as const;
}

describe("a handoff with a condition", verifies("AGENT-1"), () => {
  const conditional = (when: (view: { readonly steps: number }) => boolean, given: Partial<AgentOptions> = {}) => {
    const model = createScriptedModel([
      { calls: [{ name: "look" }] },
      { calls: [{ name: "transfer_to_billing" }] },
      { text: "I do it." },
    ]);
    const billing = createAgent({ name: "billing", model: createScriptedModel([{ text: "Paid." }]) });
    const look = bigTool("look", 10);
    const store = createMemoryStore();
    const triage: Agent = createAgent({
      name: "triage",
      model,
      tools: [look],
      store,
      handoffs: [{ name: "billing", description: "Payments.", agent: () => billing, when }],
      ...given,
    });
    return { triage, model, store };
  };
  const offered = (model: ReturnType<typeof createScriptedModel>) =>
    model.requests.map(({ tools }) => (tools ?? []).some(({ name }) => name === "transfer_to_billing"));

  test("is offered in the steps in which the condition holds", async () => {
    const { triage, model } = conditional(({ steps }) => steps > 0);
    expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({ text: "Paid." });
    expect(offered(model)).toEqual([false, true]);
    expect((await triage.session("s").replay()).difference).toBeNull();
  });

  test("is refused if the model calls it all the same", async () => {
    const { triage, model } = conditional(() => false);
    expect(await triage.run("Pay me back.")).toMatchObject({ text: "I do it." });
    expect(offered(model)).toEqual([false, false, false]);
  });

  test("goes with the tools that the run names", async () => {
    const { triage, model } = conditional(() => false);
    await triage.run("Pay me back.", { activeTools: ["look", "transfer_to_billing"] });
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(["look"]);
  });

  test("a condition that fails counts as false, and the log says so", async () => {
    for (const when of [() => fails("lost"), () => "yes" as never]) {
      const { triage, model, store } = conditional(when);
      expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({ text: "I do it." });
      expect(offered(model)).toEqual([false, false, false]);
      expect(JSON.stringify(await traceSession(store, "s"))).toContain("when of transfer_to_billing");
    }
  });
});
