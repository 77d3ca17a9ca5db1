/**
 * The crash kit on agents as users write them: it passes correct agents, and finds the fault of each wrong one.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type AnyTool,
  createAgent,
  createMemoryStore,
  defineTool,
  done,
  type Hook,
  type Store,
  type ToolContext,
} from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import {
  CrashFailure,
  type CrashTestOptions,
  crashTest,
  createScriptedModel,
  type ScriptedStep,
} from "../../src/testing/index.js";
import { skills } from "../../src/tools/index.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";

const object = { type: "object" } as const;

/** A model that gives the same answer for a step each time. It has no memory that a crash could erase. */
function modelOf(...steps: readonly ScriptedStep[]) {
  return createScriptedModel(({ modelCallIndex }) => steps[modelCallIndex - 1]);
}

/** A service that books each key once, as payment services do. */
function createLedger() {
  const booked = new Map<string, number>();
  let requests = 0;
  return {
    book(key: string) {
      requests += 1;
      if (!booked.has(key)) booked.set(key, requests);
      return `booked ${key.split("/").slice(-2).join("/")}`;
    },
    count: () => booked.size,
    has: (key: string) => booked.has(key),
    clear: () => booked.clear(),
  };
}

describe("nothing is wrong with", () => {
  test("tools of every kind of recovery", verifies("REC-7", "REC-4"), async () => {
    const ledger = createLedger();
    const book = (_: unknown, { idempotencyKey }: ToolContext) => ledger.book(idempotencyKey);
    const tool = (name: string, more: object) => ({ name, description: name, input: object, execute: book, ...more });
    const reconcile = async ({ idempotencyKey }: { readonly idempotencyKey: string }) =>
      ledger.has(idempotencyKey)
        ? ({ status: "finished", output: ledger.book(idempotencyKey) } as const)
        : ({ status: "not_started" } as const);
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: modelOf(
            { text: "First", calls: [{ name: "look" }, { name: "pay" }, { name: "keyed" }] },
            { calls: [{ name: "traced" }, { name: "unsure" }] },
            { text: "Done." },
          ),
          tools: [
            tool("look", { readOnly: true }),
            tool("pay", {}),
            tool("keyed", { recover: "rerun" }),
            tool("traced", { recover: { reconcile } }),
            tool("unsure", { recover: "ask" }),
          ],
        }),
      input: "pay",
      reset: ledger.clear,
      check({ result, log }) {
        expect(result).toMatchObject({ status: "completed", text: "Done." });
        const ok = log.filter(({ event }) => event.type === "tool_finished" && event.outcome === "ok");
        expect(ledger.count()).toBeGreaterThanOrEqual(ok.length);
      },
    });
    expect(report.points).toBeGreaterThanOrEqual(12);
    expect(report).toMatchObject({ plays: report.points + 1, crashes: report.points });
    expect(report.repeated).toMatchObject({ pay: 0, unsure: 0 });
    expect(report.unknown).toMatchObject({ look: 0, keyed: 0, traced: 0 });
    expect(report.repeated.keyed).toBeGreaterThan(0);
    expect(report.unknown.pay).toBeGreaterThan(0);
  });

  test("tools at every pair of crashes", verifies("REC-7"), async () => {
    const ledger = createLedger();
    const pay = (_: unknown, { idempotencyKey }: ToolContext) => ledger.book(idempotencyKey);
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: modelOf({ calls: [{ name: "pay" }] }, { text: "Done." }),
          tools: [{ name: "pay", description: "pays", input: object, recover: "rerun", execute: pay }],
        }),
      input: "pay",
      pairs: true,
      reset: ledger.clear,
      check: () => expect(ledger.count()).toBe(1),
    });
    expect(report.crashes).toBeGreaterThan(report.points * report.points);
  });

  test("a model and tools that really take their time, in a file", verifies("REC-7"), async () => {
    const service = createServer((_, response) => response.end("served"));
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void service.close());
    const { port } = service.address() as AddressInfo;
    const provider = await startProviderServer("openai-chat", ({ body }) => {
      const messages = body.messages as readonly { readonly role: string }[];
      return messages.some(({ role }) => role === "tool")
        ? { type: "answer", text: "All done." }
        : { type: "answer", calls: [{ name: "fetch_page", input: {} }] };
    });
    onTestFinished(() => provider.close());
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const store = await openSqliteStore({ path: ":memory:" });
    onTestFinished(() => store.close());
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: createOpenAICompatible({ name: "local", baseURL: provider.baseURL })("test"),
          tools: [
            defineTool({
              name: "fetch_page",
              description: "fetches",
              input: object,
              readOnly: true,
              execute: async () => (await fetch(`http://127.0.0.1:${port}`)).text(),
            }),
          ],
        }),
      input: "fetch it",
      points: "waits",
      store,
      check: ({ result }) => expect(result).toMatchObject({ status: "completed", text: "All done." }),
    });
    expect(report.points).toBeGreaterThanOrEqual(12);
    expect(report.unknown).toEqual({ fetch_page: 0 });
    expect(report.repeated.fetch_page).toBeGreaterThan(0);
  });

  test("approvals, and results that come from elsewhere", verifies("REC-7"), async () => {
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: modelOf({ calls: [{ name: "pay" }, { name: "outside" }] }, { text: "Done." }),
          tools: [
            { name: "pay", description: "pays", input: object, needsApproval: true, execute: () => "paid" },
            { name: "outside", description: "elsewhere", input: object },
          ],
        }),
      input: "pay",
      respond: ({ why }) => (why === "external" ? { type: "result", output: "given" } : { type: "approve" }),
      check: ({ result }) => expect(result.status).toBe("completed"),
    });
    expect(report.repeated).toEqual({ pay: 0, outside: 0 });
  });

  test("an agent that needs params, and a tool that needs to know who started the run", verifies("REC-7"), async () => {
    const ledger = createLedger();
    const book = defineTool({
      name: "book",
      description: "book",
      input: object,
      recover: "rerun",
      execute: (_, { params, principal, idempotencyKey }: ToolContext) =>
        `${ledger.book(idempotencyKey)} for ${principal} of ${JSON.stringify(params)}`,
    });
    const run = {
      agent: () =>
        createAgent({
          model: modelOf({ calls: [{ name: "book" }] }, { text: "Done." }),
          tools: [book],
          params: { type: "object", properties: { tenant: { type: "string" } }, required: ["tenant"] },
        }),
      input: "book",
      reset: ledger.clear,
    };
    const report = await crashTest({
      ...run,
      params: { tenant: "acme" },
      by: "ada",
      check: ({ log }) => {
        expect(ledger.count()).toBe(1);
        expect(JSON.stringify(log)).toContain('for ada of {\\"tenant\\":\\"acme\\"}');
      },
    });
    expect(report.crashes).toBeGreaterThan(5);
    await expect(crashTest({ ...run, params: { tenant: 3 } })).rejects.toThrow("params schema");
  });

  test("an agent as a tool, whose session is crashed too", verifies("REC-7"), async () => {
    const report = await crashTest({
      agent: () => {
        const helper = createAgent({
          name: "helper",
          model: modelOf({ calls: [{ name: "look" }] }, { text: "Seen." }),
          tools: [{ name: "look", description: "looks", input: object, readOnly: true, execute: () => "a thing" }],
        });
        return createAgent({
          model: modelOf({ calls: [{ name: "helper", input: { task: "look" } }] }, { text: "Done." }),
          tools: [helper.asTool({ description: "helps" })],
        });
      },
      input: "get help",
      check: ({ result }) => expect(result).toMatchObject({ status: "completed", text: "Done." }),
    });
    expect(report.points).toBeGreaterThanOrEqual(14);
    expect(report.unknown).toEqual({ helper: 0 });
  });

  test("a tool that never settles: its timeout counts once patience is over", verifies("REC-7"), async () => {
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: modelOf({ calls: [{ name: "stuck" }] }, { calls: [{ name: "finish" }] }),
          tools: [
            {
              name: "stuck",
              description: "hangs",
              input: object,
              timeoutMs: 500,
              execute: () => new Promise(() => {}),
            },
            { name: "finish", description: "ends", input: object, recover: "rerun", execute: () => done("enough") },
          ],
        }),
      input: "wait",
      patienceMs: 5,
      check: ({ result }) => expect(result).toMatchObject({ status: "completed", reason: "done" }),
    });
    expect(report.repeated.stuck).toBe(0);
  });
});

describe("what is wrong is found", () => {
  const charging =
    (charge: () => void): CrashTestOptions["agent"] =>
    () =>
      createAgent({
        model: modelOf({ calls: [{ name: "charge" }] }, { text: "Charged." }),
        tools: [{ name: "charge", description: "charges", input: object, recover: "rerun", execute: charge }],
      });

  test(
    "a tool that says it may run again, and charges twice: named with the crash that shows it",
    verifies("REC-7"),
    async () => {
      let charges = 0;
      const options: CrashTestOptions = {
        agent: charging(() => {
          charges += 1;
        }),
        input: "charge",
        reset: () => {
          charges = 0;
        },
        check: () => expect(charges).toBe(1),
      };
      const failure = await crashTest(options).catch((error) => error);
      expect(failure).toBeInstanceOf(CrashFailure);
      expect(failure).toMatchObject({ invariant: null, message: expect.stringMatching(/^With a crash at \d+: /) });
      expect(failure.at).toHaveLength(1);
      expect(failure.message).toContain(`Replay: crashTest({ …, at: [${failure.at}] })`);
      expect(failure.message).toMatch(/p1 killed[\s\S]*p2 runs charge/);
      await expect(crashTest({ ...options, at: failure.at })).rejects.toMatchObject({ at: failure.at });
      await expect(crashTest({ ...options, at: [] })).resolves.toMatchObject({ plays: 1, crashes: 0 });
    },
  );

  const brokenStores: { readonly [what: string]: readonly [number, (store: Store) => Partial<Store>] } = {
    "loses an event": [
      1,
      (store) => ({ read: async (...place) => (await store.read(...place)).filter(({ seq }) => seq !== 3) }),
    ],
    "forgets how far a call has come": [
      11,
      (store) => ({
        commit: (lease, commit) =>
          store.commit(lease, {
            ...commit,
            state:
              commit.state.status === "tool_running"
                ? ({ ...commit.state, restarts: 0, updated: 1 } as never)
                : commit.state,
          }),
      }),
    ],
    "gives everybody the lease": [
      2,
      (store) => {
        let epoch = 0;
        return {
          async claim(sessionId, options) {
            const claimed = await store.claim(sessionId, options);
            if (claimed.type === "held") return claimed;
            epoch = epoch === 0 ? claimed.lease.epoch : epoch;
            return { ...claimed, lease: { ...claimed.lease, epoch } };
          },
        };
      },
    ],
  };

  test.each(Object.keys(brokenStores))("a store that %s", verifies("REC-7"), async (what) => {
    const [invariant, breakIt] = brokenStores[what] ?? [0, () => ({})];
    const store = createMemoryStore();
    const broken: Store = { ...store, ...breakIt(store) };
    const failure = await crashTest({ agent: charging(() => {}), input: "charge", store: broken }).catch(
      (error) => error,
    );
    expect(failure).toMatchObject({ name: "CrashFailure", invariant });
  });

  test("a point that does not exist", async () => {
    await expect(crashTest({ agent: charging(() => {}), input: "charge", at: [999] })).rejects.toThrow("no point 999");
  });

  test("a call that runs elsewhere without `respond`", async () => {
    const agent = () =>
      createAgent({
        model: modelOf({ calls: [{ name: "outside" }] }),
        tools: [{ name: "outside", description: "elsewhere", input: object }],
      });
    await expect(crashTest({ agent, input: "go" })).rejects.toThrow(/Without a crash: .*pass `respond`/);
  });
});

describe("code of the author that waits in real time", () => {
  const pause = (ms = 20) => new Promise((resolve) => setTimeout(resolve, ms));

  test("is waited for: hooks, context sources and their tools, conditions, policies and repairs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-skills-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "billing"));
    writeFileSync(
      join(folder, "billing", "SKILL.md"),
      "---\nname: billing\ndescription: How bills are paid.\n---\nPay what is due.\n",
    );
    const ledger = createLedger();
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object", properties: { cents: { type: "integer" } }, required: ["cents"] },
      recover: "rerun",
      async needsApproval() {
        await pause();
        return false;
      },
      execute: (_, { idempotencyKey }) => ledger.book(idempotencyKey),
    });
    const seen = new Set<string>();
    const waiting = async (point: string) => {
      await pause();
      seen.add(point);
    };
    const report = await crashTest({
      agent: () =>
        createAgent({
          model: modelOf(
            { calls: [{ name: "read_skill", input: { name: "billing" } }] },
            { calls: [{ name: "pay", raw: '{"amount": 3}' }] },
            { text: "Paid." },
          ),
          tools: [pay],
          hooks: [
            { name: "slow", beforeRun: () => waiting("beforeRun"), beforeLLMCall: () => waiting("beforeLLMCall") },
            { name: "ends", afterToolCall: () => waiting("afterToolCall"), afterRun: () => waiting("afterRun") },
          ],
          stopWhen: async function never() {
            await waiting("stopWhen");
            return false;
          },
          async repairToolCall() {
            await waiting("repairToolCall");
            return { input: { cents: 3 } };
          },
          async canExecuteTool() {
            await waiting("canExecuteTool");
            return "allow" as const;
          },
          context: {
            sources: [
              skills({ folders: [{ path: folder, trust: "user" }] }),
              {
                name: "rules",
                async load() {
                  await waiting("load");
                  return [{ name: "rules", path: "rules", text: "Be brief.", trust: "user" }];
                },
              },
            ],
          },
        }),
      input: "Pay the bill.",
      reset: () => ledger.clear(),
      check({ result }) {
        expect(result).toMatchObject({ status: "completed", text: "Paid." });
        expect(ledger.count()).toBe(1);
      },
    });
    expect(report.crashes).toBeGreaterThan(10);
    expect([...seen].sort()).toEqual([
      ...["afterRun", "afterToolCall", "beforeLLMCall", "beforeRun", "canExecuteTool", "load", "repairToolCall"],
      "stopWhen",
    ]);
  });

  test("is waited for in a fallback model and in the model that sums a conversation up", async () => {
    const slow = (id: string, text: string) => createScriptedModel(() => ({ text, wait: pause() }), { id });
    await crashTest({
      agent: () =>
        createAgent({
          model: createScriptedModel(() => ({ error: { kind: "invalid_request", message: "no" } })),
          fallbacks: [{ model: slow("second", "From the second.") }],
          compaction: { contextWindow: 40_000, model: slow("short", "A summary.") },
        }),
      input: "Go.",
      check: ({ result }) => expect(result).toMatchObject({ status: "completed", text: "From the second." }),
    });
  });

  test("is still bounded: a hook that never ends fails as it does outside of the kit", {
    timeout: 60_000,
  }, async () => {
    const hook: Hook = { name: "stuck", timeoutMs: 100, onFailure: "closed", beforeRun: () => new Promise(() => {}) };
    await crashTest({
      agent: () => createAgent({ model: modelOf({ text: "Done." }), hooks: [hook] }),
      input: "Go.",
      patienceMs: 50,
      check: ({ result }) => expect(result).toMatchObject({ status: "failed", reason: "hook_failed" }),
    });
  });
});

describe("sleeps and waits for signals pass", () => {
  const dayMs = 86_400_000;

  /** An agent with a durable tool that waits, and then works under a fixed key or under a new one each time. */
  function createWaiting(wait: (context: ToolContext) => Promise<unknown>) {
    const works: string[] = [];
    const seen: string[] = [];
    const createOptions = (isKeyed: boolean): CrashTestOptions => ({
      agent: () =>
        createAgent({
          model: modelOf({ calls: [{ name: "work" }] }, { text: "Done." }),
          tools: [
            defineTool({
              name: "work",
              description: "waits and works",
              input: object,
              durable: true,
              async execute(_, context) {
                seen.push(JSON.stringify(await wait(context)) ?? "nothing");
                const key = isKeyed ? context.idempotencyKey : `work ${works.length}`;
                if (!works.includes(key)) works.push(key);
                return "worked";
              },
            }),
          ],
        }),
      input: "work",
      reset() {
        works.length = 0;
        seen.length = 0;
      },
      check({ result }) {
        expect(result).toMatchObject({ status: "completed", text: "Done." });
        expect(works).toHaveLength(1);
      },
    });
    return { createOptions, seen };
  }

  const signalledBy = async ({ waitFor }: ToolContext) => await waitFor("paid", { key: "order", timeoutMs: dayMs });

  const cases: readonly {
    readonly name: string;
    readonly wait: (context: ToolContext) => Promise<unknown>;
    readonly signals?: CrashTestOptions["signals"] & {};
    readonly expected: unknown;
  }[] = [
    { name: "a sleep", wait: ({ sleep }) => sleep("night", { ms: dayMs }), expected: undefined },
    {
      name: "a wait that gets its signal",
      wait: signalledBy,
      signals: [{ key: "order", value: { cents: 3 }, id: "evt_1" }],
      expected: { type: "signalled", value: { cents: 3 }, id: "evt_1" },
    },
    {
      name: "a wait without an end that gets its signal",
      wait: ({ waitFor }) => waitFor("paid", { key: "order" }),
      signals: [{ key: "other" }, { key: "order", id: "evt_1" }],
      expected: { type: "signalled", value: null, id: "evt_1" },
    },
    {
      name: "a short wait that gets its signal",
      wait: ({ waitFor }) => waitFor("paid", { key: "order", timeoutMs: 2_000 }),
      signals: [{ key: "order", id: "evt_1" }],
      expected: { type: "signalled", value: null, id: "evt_1" },
    },
    { name: "a wait that expires", wait: signalledBy, expected: { type: "expired" } },
    {
      name: "waits and sleeps in a sequence, each with a signal of its own",
      async wait({ waitFor, sleep }) {
        const first = await waitFor<number>("first", { key: "order", schema: { type: "number" } });
        await sleep("pause", { ms: dayMs });
        const second = await waitFor("second", { key: "order" });
        return [first, second].map((one) => (one.type === "signalled" ? one.value : one.type));
      },
      signals: [
        { key: "order", value: "no number" },
        { key: "order", value: 1 },
        { key: "order", value: 2 },
      ],
      expected: [1, 2],
    },
  ];

  test.each(cases)("$name: crashes after it find what works twice", async ({ wait, signals = [], expected }) => {
    const { createOptions, seen } = createWaiting(wait);
    const { check, ...options } = { ...createOptions(true), signals };
    const report = await crashTest({
      ...options,
      async check(play) {
        await check?.(play);
        for (const one of seen) expect(one).toBe(JSON.stringify(expected) ?? "nothing");
      },
    });
    expect(report.repeated.work).toBeGreaterThan(0);
    const failure = await crashTest({ ...createOptions(false), signals }).catch((error) => error);
    expect(failure).toBeInstanceOf(CrashFailure);
    // Only a crash after the wait shows it.
    expect(failure.message).toMatch(/^With a crash at \d+: expected \[ 'work 0', 'work 1' \]/);
    await expect(crashTest({ ...createOptions(false), signals, at: failure.at })).rejects.toThrow("'work 1'");
  });

  test("a wait that nobody ends fails, and names the key and the option", async () => {
    const { createOptions } = createWaiting(({ waitFor }) => waitFor("paid", { key: "order" }));
    await expect(crashTest(createOptions(true))).rejects.toThrow(
      'Without a crash: the run waits for the signal "order", which nobody sends. Let the kit send it: crashTest({ …, signals: [{ key: "order", value: … }] }).',
    );
    await expect(crashTest({ ...createOptions(true), signals: [{ key: "oder" }] })).rejects.toThrow('"order"');
  });

  test("signals in a store that all plays share, and which keeps signals of others", async () => {
    const { createOptions, seen } = createWaiting(signalledBy);
    const store = createMemoryStore();
    await crashTest({
      ...createOptions(true),
      store,
      signals: [{ key: "order", value: 7, id: "same" }],
      check: () => expect(seen.at(-1)).toBe('{"type":"signalled","value":7,"id":"same"}'),
    });
  });

  test("a sleep after an agent behind a tool, whose process died once it had given its result", async () => {
    const { createOptions } = createWaiting(({ sleep }) => sleep("night", { ms: dayMs }));
    const { agent: createWorking, ...options } = createOptions(true);
    const report = await crashTest({
      ...options,
      agent: () => {
        const helper = createAgent({ name: "helper", model: modelOf({ text: "Helped." }) });
        const { tools = [] } = createWorking().options;
        return createAgent({
          name: "boss",
          model: modelOf(
            { calls: [{ name: "helper", input: { task: "help" } }] },
            { calls: [{ name: "work" }] },
            { text: "Done." },
          ),
          tools: [...(tools as readonly AnyTool[]), helper.asTool({ description: "helps" })],
        });
      },
    });
    expect(report.plays).toBe(report.points + 1);
  });

  test("what an agent behind a tool waits for", async () => {
    const { createOptions } = createWaiting(async ({ sleep, waitFor }) => {
      await sleep("night", { ms: dayMs });
      await waitFor("paid", { key: "order" });
    });
    const withHelper = (isKeyed: boolean): CrashTestOptions => {
      const { agent: createHelper, ...options } = createOptions(isKeyed);
      return {
        ...options,
        signals: [{ key: "order" }],
        agent: () =>
          createAgent({
            name: "boss",
            model: modelOf({ calls: [{ name: "helper", input: { task: "work" } }] }, { text: "Done." }),
            tools: [createHelper().with({ name: "helper" }).asTool({ description: "helps" })],
          }),
      };
    };
    await crashTest({ ...withHelper(true), at: [] });
    const failure = await crashTest(withHelper(false)).catch((error) => error);
    expect(failure.message).toMatch(/^With a crash at \d+: expected \[ 'work 0', 'work 1' \]/);
  });
});
