/**
 * A store that says what it likes: it is nobody's authority, and what it says runs nothing.
 */
import { describe, expect, test } from "vitest";
import { initialState } from "../../src/core/index.js";
import { createAgent, createMemoryStore, PawlError, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

/** What a store of anybody's making may give, whatever its types say. */
const anything = (value: unknown): never => value as never;

/** A session in the middle of a step, as a store keeps it. */
async function sessionUnderWay(): Promise<Store> {
  const store = createMemoryStore();
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "echo" }] }]),
    tools: [createEchoTool().tool],
    canExecuteTool: () => "ask",
    store,
  });
  await agent.run("Go", { sessionId: "s", runId: "r" });
  return store;
}

const evil = JSON.parse('{"status": "tool_running", "__proto__": {"polluted": true}, "calls": [{"at": "running"}]}');
class State {
  readonly status = "idle";
  get queue(): never {
    throw new Error("revived");
  }
}

const states: { readonly [what: string]: unknown } = {
  "an unknown status": { ...initialState, status: "wat" },
  "no calls where there should be some": { ...initialState, status: "tool_running", runId: "r" },
  "dangerous keys": evil,
  "an instance of a class": new State(),
  "a text": "idle",
  "a list": [],
  "a function": () => "idle",
  "a getter that throws": Object.defineProperty({ ...initialState }, "queue", {
    get() {
      throw new Error("do not look");
    },
  }),
  "a queue of nonsense": { ...initialState, queue: [{ kind: "run" }, null, 7] },
};

describe("a store that gives as the state", () => {
  test.each(Object.entries(states))("%s: nothing runs, and it is told", verifies("SEC-13"), async (_, state) => {
    const inner = await sessionUnderWay();
    const echo = createEchoTool();
    const model = createScriptedModel([{ text: "Never." }]);
    const store: Store = {
      ...inner,
      load: async () => ({ seq: 0, state: anything(state) }),
      claim: async (sessionId, options) => {
        const claimed = await inner.claim(sessionId, options);
        return claimed.type === "claimed" ? { ...claimed, seq: 0, state: anything(state) } : claimed;
      },
    };
    const agent = createAgent({ model, tools: [echo.tool], store });
    await expectRefused(() => agent.session("s").resume());
    await expectRefused(() => agent.run("Go", { sessionId: "s" }));
    expect(echo.inputs).toEqual([]);
    expect(model.requests).toEqual([]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

const logs: { readonly [what: string]: (store: Store) => Store["read"] } = {
  "a page of another place": (store) => async (id) => (await store.read(id, 0)).slice(1),
  "entries with a gap": (store) => async (id, after) =>
    (await store.read(id, after)).filter((entry) => entry.seq !== 3),
  "entries out of order": (store) => async (id, after) => [...(await store.read(id, after))].reverse(),
  "entries that are none": () => async () => anything([null, 7, { seq: "one" }]),
  "events of unknown kinds": () => async (_, after) =>
    after === 0
      ? anything([
          { seq: 1, event: { type: "wat" } },
          { seq: 2, event: null },
        ])
      : [],
};

describe("a store that gives as the log", () => {
  test.each(Object.entries(logs))("%s: it is told", verifies("SEC-13"), async (_, make) => {
    const inner = await sessionUnderWay();
    const store: Store = { ...inner, read: make(inner) };
    const model = createScriptedModel([{ text: "Never." }]);
    const agent = createAgent({ model, tools: [createEchoTool().tool], store });
    const session = agent.session("s");
    await expect(collect(session.events({ follow: false }))).rejects.toThrow();
    await expect(session.messages()).rejects.toThrow();
    await expectRefused(() => session.resume());
    await expectRefused(() => session.answer("r/1/1", { type: "approve" }));
    expect(model.requests).toEqual([]);
  });
});

const answers: { readonly [what: string]: Partial<Store> } = {
  "a claim that is neither": { claim: async () => anything({ type: "maybe" }) },
  "nothing for a claim": { claim: async () => anything(undefined) },
  "an inbox of nonsense": { inbox: async () => anything([null, { id: 7 }, { id: "x", body: { type: "wat" } }]) },
  "a commit that says nothing": { commit: async () => anything(undefined) },
  "a commit of an unknown result": { commit: async () => anything({ type: "perhaps" }) },
  "a commit with a wrong number": { commit: async () => ({ type: "ok", seq: -1 }) },
};

describe("a store that answers with", () => {
  test.each(Object.entries(answers))("%s: the run ends here, with a reason", verifies("SEC-13"), async (_, part) => {
    const store: Store = { ...createMemoryStore(), ...part };
    const echo = createEchoTool();
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "echo" }] }, { text: "Done." }]),
      tools: [echo.tool],
      store,
    });
    await expectRefused(() => agent.run("Go", { sessionId: "s" }));
  });
});

/** Either a result that says that the store failed, or an error that Pawl knows. */
async function expectRefused(act: () => Promise<unknown>): Promise<void> {
  const outcome = await act().catch((error: unknown) => error);
  if (outcome instanceof Error) expect(outcome).toBeInstanceOf(PawlError);
  else expect(outcome).toMatchObject({ status: "interrupted" });
}

test("a store may be an instance of a class with secrets of its own", async () => {
  const inner = createMemoryStore();
  class Kept {
    readonly #inner = inner;
    claim = (...values: Parameters<Store["claim"]>) => this.#inner.claim(...values);
    commit(...values: Parameters<Store["commit"]>) {
      return this.#inner.commit(...values);
    }
    load(...values: Parameters<Store["load"]>) {
      return this.#inner.load(...values);
    }
    read(...values: Parameters<Store["read"]>) {
      return this.#inner.read(...values);
    }
    inbox(...values: Parameters<Store["inbox"]>) {
      return this.#inner.inbox(...values);
    }
    watch(...values: Parameters<Store["watch"]>) {
      return this.#inner.watch(...values);
    }
  }
  const agent = createAgent({ model: createScriptedModel([{ text: "Kept." }]), store: anything(new Kept()) });
  expect(await agent.run("Go")).toMatchObject({ status: "completed", text: "Kept." });
});
