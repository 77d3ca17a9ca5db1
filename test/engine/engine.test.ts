/**
 * The engine: what its agents share, who beats whom, and the worker's way from start to shutdown.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createAgent,
  createEngine,
  createMemoryStore,
  type Hook,
  type Observer,
  type Plugin,
  type PluginContext,
  type Services,
  type WorkerReport,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createGateTool } from "../support/agents.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const toolNamed = (name: string, says: string): AnyTool => ({
  name,
  description: `Says ${says}.`,
  input: { type: "object" },
  execute: () => says,
});

const plugin = (name: string, setup: (context: PluginContext) => void, more: Partial<Plugin> = {}): Plugin => ({
  name,
  version: "1.0.0",
  setup,
  ...more,
});

const callsAndStops = (...names: readonly string[]): readonly ScriptedStep[] => [
  { calls: names.map((name) => ({ name })) },
  { text: "Done." },
];

function shownTo(model: ReturnType<typeof createScriptedModel>): string {
  return JSON.stringify(model.requests.at(-1)?.messages.at(-1));
}

describe("tools", () => {
  test("an agent's own beat those of plugins, which beat the engine's", verifies("PLUG-2"), async () => {
    const model = createScriptedModel(callsAndStops("a", "b", "c", "d"));
    const engine = await createEngine({
      tools: [toolNamed("a", "engine a"), toolNamed("b", "engine b"), toolNamed("c", "engine c")],
      plugins: [
        plugin("p", ({ registerTool }) => {
          for (const name of ["b", "c", "d"]) registerTool(toolNamed(name, `plugin ${name}`));
        }),
      ],
      agents: [
        { name: "x", model, tools: { c: toolNamed("c", "own c") } },
        { name: "y", model: createScriptedModel(callsAndStops("c")) },
      ],
    });
    expect((await engine.agent("x").run("Go")).status).toBe("completed");
    for (const said of ["engine a", "plugin b", "own c", "plugin d"]) expect(shownTo(model)).toContain(said);
    for (const beaten of ["engine b", "engine c", "plugin c"])
      expect(JSON.stringify(model.requests)).not.toContain(beaten);
    await engine.shutdown();
  });

  test("of the engine have one name each", async () => {
    const tools = [toolNamed("a", "one"), toolNamed("a", "other")];
    await expect(createEngine({ tools, agents: [] })).rejects.toMatchObject({ code: "duplicate_tool" });
  });

  test(
    "of one agent may be other agents of the engine, with all that plugins add",
    verifies("PLUG-1", "PLUG-2"),
    async () => {
      const heard: string[] = [];
      const writer = createScriptedModel([
        { calls: [{ name: "researcher", input: { task: "Look." } }] },
        { text: "Written." },
      ]);
      const hook: Hook = { name: "ear", beforeRun: ({ input }) => void heard.push(JSON.stringify(input)) };
      const engine = await createEngine({
        plugins: [plugin("p", ({ registerHook }) => registerHook(hook))],
        agents: [
          { name: "researcher", model: createScriptedModel([{ text: "Found." }]) },
          {
            name: "writer",
            model: writer,
            tools: (agent) => [agent("researcher").asTool({ description: "Looks things up." })],
          },
        ],
      });
      expect(await engine.agent("writer").run("Write.")).toMatchObject({ status: "completed", text: "Written." });
      expect(shownTo(writer)).toContain("Found.");
      expect(heard).toEqual([expect.stringContaining("Write."), expect.stringContaining("Look.")]);
      await engine.shutdown();
      const tools = (agent: (name: string) => unknown) => [agent("later")] as AnyTool[];
      const model = createScriptedModel([]);
      await expect(
        createEngine({
          agents: [
            { name: "first", model, tools },
            { name: "later", model },
          ],
        }),
      ).rejects.toThrow('There is no agent "later". The engine has no agents yet.');
    },
  );
});

describe("what plugins register", () => {
  test("hooks and observers come before an agent's own, in the order of the setup", verifies("PLUG-2"), async () => {
    const told: string[] = [];
    const hook = (name: string): Hook => ({ name, beforeRun: () => void told.push(`hook ${name}`) });
    const observer = (name: string): Observer => ({
      name,
      onEvent: ({ type }) => void (type === "run_started" && told.push(`observer ${name}`)),
    });
    const adds = (name: string, more: Partial<Plugin> = {}) =>
      plugin(
        name,
        ({ registerHook, registerObserver }) => {
          registerHook(hook(name));
          registerObserver(observer(name));
        },
        more,
      );
    const engine = await createEngine({
      plugins: [adds("second", { dependencies: ["first"] }), adds("first")],
      agents: [
        {
          name: "x",
          model: createScriptedModel([{ text: "Hi." }]),
          hooks: [hook("own")],
          observers: [observer("own")],
        },
      ],
    });
    await engine.agent("x").run("Hello");
    expect(told.filter((line) => line.startsWith("hook"))).toEqual(["hook first", "hook second", "hook own"]);
    expect(told.filter((line) => line.startsWith("observer"))).toEqual([
      "observer first",
      "observer second",
      "observer own",
    ]);
    await engine.shutdown();
  });

  test(
    "models go by name, as an agent's and as what it falls back on",
    verifies("PLUG-2", "LOOP-9", "LOOP-20"),
    async () => {
      const failing = createScriptedModel([], { id: "failing" });
      const spare = createScriptedModel([{ text: "From the spare one." }], { id: "spare" });
      const third = createScriptedModel([{ text: "From the third." }], { id: "third" });
      const engine = await createEngine({
        plugins: [
          plugin("models", ({ registerModel }) => {
            registerModel("fast", failing);
            registerModel("spare", failing);
            registerModel("third", third);
          }),
        ],
        models: { spare },
        agents: [
          { name: "x", model: "fast", fallbacks: ["spare"] },
          { name: "y", model: "fast", fallbacks: [failing, { model: "third", timeouts: { totalMs: 1_000 } }] },
        ],
      });
      expect((await engine.agent("x").run("Go")).text).toBe("From the spare one.");
      expect((await engine.agent("y").run("Go")).text).toBe("From the third.");
      await engine.shutdown();
      const calling = createScriptedModel([{ calls: [{ name: "look" }] }], { id: "calling" });
      const ending = createScriptedModel([{ text: "From the chosen one." }], { id: "ending" });
      const chosen = await createEngine({
        models: { "in-house": calling, other: ending },
        tools: [toolNamed("look", "looked")],
        agents: [
          {
            name: "z",
            model: createScriptedModel([]),
            models: { fast: "in-house", smart: { model: "other", timeouts: { totalMs: 1_000 } } },
            hooks: [
              {
                name: "choose",
                beforeLLMCall: ({ modelCallIndex }) => ({ model: modelCallIndex === 1 ? "fast" : "smart" }),
              },
            ],
          },
        ],
      });
      expect((await chosen.agent("z").run("Go")).text).toBe("From the chosen one.");
      expect([calling.requests.length, ending.requests.length]).toEqual([1, 1]);
      await chosen.shutdown();
      await expect(createEngine({ agents: [{ name: "x", model: "nobody/model" }] })).rejects.toMatchObject({
        code: "unknown_model",
      });
    },
  );

  test(
    "services are seen by tools and by plugins set up later, and give way to an agent's own",
    verifies("PLUG-2", "LOOP-12#services"),
    async () => {
      const seen: unknown[] = [];
      const look: AnyTool = {
        ...toolNamed("look", "looked"),
        execute(_input, { services }) {
          seen.push(services.bus, services.own, services.tokens.text("word"));
          return "looked";
        },
      };
      const usage = { inputTokens: 10, outputTokens: 10 };
      const steps = (): readonly ScriptedStep[] => [
        { calls: [{ name: "look" }], usage },
        { text: "Done.", usage },
      ];
      const engine = await createEngine({
        tools: [look],
        plugins: [
          plugin("bus", ({ registerService, service }) => {
            expect(service("bus")).toBeUndefined();
            registerService("bus", { line: 1 });
            registerService("usage", { isPriced: () => true, costOf: () => 2 });
            const context = () => ({ tokens: 7, counted: 0 });
            registerService("tokens", { text: () => 7, message: () => 7, request: () => 7, context });
            registerService("output", { cap: async () => ({ type: "text", text: "cut" }) });
          }),
          plugin("rider", ({ service }) => expect(service("bus")).toEqual({ line: 1 }), { dependencies: ["bus"] }),
        ],
        agents: [
          { name: "x", model: createScriptedModel(steps()), services: { own: "mine" } },
          {
            name: "y",
            model: createScriptedModel(steps()),
            services: { bus: "another" },
            usage: null,
            toolOutput: {},
            tokens: { count: () => 3 },
          },
        ],
      });
      const x = engine.agent("x");
      expect((await x.run("Go")).usage.costUsd).toBe(4);
      expect(shownTo(x.options.model as ReturnType<typeof createScriptedModel>)).toContain("cut");
      const y = engine.agent("y");
      expect((await y.run("Go")).usage.costUsd).toBeUndefined();
      expect(shownTo(y.options.model as ReturnType<typeof createScriptedModel>)).toContain("looked");
      expect(seen).toEqual([{ line: 1 }, "mine", 7, "another", undefined, 3]);
      await engine.shutdown();
    },
  );
});

test(
  "a compaction service of a plugin gives way to an agent's own setting",
  verifies("PLUG-2", "LOOP-12#compaction"),
  async () => {
    let asked = 0;
    const compaction: NonNullable<Services["compaction"]> = {
      isDue: () => {
        asked += 1;
        return false;
      },
      cutOf: () => null,
      sumUp: async () => ({ summary: "", retained: [] }),
    };
    const engine = await createEngine({
      plugins: [plugin("short", ({ registerService }) => registerService("compaction", compaction))],
      agents: [
        { name: "shared", model: createScriptedModel([{ text: "Hi." }]) },
        { name: "own", model: createScriptedModel([{ text: "Hi." }]), compaction: { keepTurns: 2 } },
        { name: "none", model: createScriptedModel([{ text: "Hi." }]), compaction: null },
      ],
    });
    await engine.agent("own").run("Hello");
    await engine.agent("none").run("Hello");
    expect(asked).toBe(0);
    await engine.agent("shared").run("Hello");
    expect(asked).toBeGreaterThan(0);
    await engine.shutdown();
  },
);

describe("an engine", () => {
  test("knows its agents by name", verifies("PLUG-1"), async () => {
    const model = createScriptedModel([]);
    const engine = await createEngine({
      agents: [
        { name: "x", model },
        { name: "y", model },
      ],
    });
    expect(engine.agent("y").options).toMatchObject({ name: "y", store: engine.store });
    expect(() => engine.agent("z")).toThrow('There is no agent "z". Known agents: x, y.');
    await engine.shutdown();
    const twice = { name: "x", model };
    await expect(createEngine({ agents: [twice, twice] })).rejects.toThrow('Two agents are named "x"');
  });

  test("recovers what another process left behind, and works until its shutdown", verifies("PLUG-1"), async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const asking = { calls: [{ name: "gate" }] };
    const before = createAgent({ name: "x", model: createScriptedModel([asking]), tools: [gate.tool], store });
    const left = before.run("Go", { sessionId: "s" });
    await gate.started;
    await before.shutdown({ graceMs: 0 });
    expect(await left).toMatchObject({ status: "interrupted", reason: "shutdown" });

    const reports: WorkerReport[] = [];
    const engine = await createEngine({
      store,
      agents: [{ name: "x", model: createScriptedModel([{ text: "Recovered." }]), tools: [gate.tool] }],
      worker: { onReport: (report) => reports.push(report) },
    });
    await engine.recover();
    expect(reports.map(({ type }) => type)).toEqual(["taken", "left"]);
    expect(await engine.agent("x").session("s").result()).toMatchObject({ status: "completed", text: "Recovered." });

    const working = engine.work();
    await engine.shutdown();
    await working;
    await expect(engine.agent("x").run("Go")).rejects.toMatchObject({ code: "shut_down" });
    expect(await store.list()).toHaveLength(1);
  });

  test(
    "recovers a run that waits for another of its agents: what was done is not done again",
    verifies("PLUG-1", "REC-3"),
    async () => {
      const store = createMemoryStore();
      let looks = 0;
      const look: AnyTool = {
        ...toolNamed("look", "seen"),
        execute: () => {
          looks += 1;
          return "seen";
        },
      };
      const gate = createGateTool("gate", { heedsSignal: false });
      const waiting: AnyTool = { ...gate.tool, recover: "rerun" };
      const open = (writer: readonly ScriptedStep[], researcher: readonly ScriptedStep[], tool: AnyTool) =>
        createEngine({
          store,
          agents: [
            { name: "researcher", model: createScriptedModel(researcher), tools: [look, tool] },
            {
              name: "writer",
              model: createScriptedModel(writer),
              tools: (agent) => [agent("researcher").asTool({ description: "Looks things up." })],
            },
          ],
        });
      const first = await open(
        [{ calls: [{ name: "researcher", input: { task: "Look." } }] }],
        [{ calls: [{ name: "look" }] }, { calls: [{ name: "gate" }] }],
        waiting,
      );
      const run = first.agent("writer").run("Write.", { sessionId: "s" });
      await gate.started;
      await first.shutdown({ graceMs: 0 });
      expect((await run).status).toBe("interrupted");

      const again: AnyTool = { ...waiting, execute: () => "opened" };
      const second = await open([{ text: "Written." }], [{ text: "Found." }], again);
      await second.recover();
      const session = second.agent("writer").session("s");
      expect(await session.result()).toMatchObject({ status: "completed", text: "Written." });
      expect(JSON.stringify(await session.messages())).toContain("Found.");
      expect(looks).toBe(1);
      await second.shutdown();
    },
  );

  test(
    "at its shutdown gives back what runs, then disposes of the plugins, then closes its own store",
    verifies("PLUG-1"),
    async () => {
      const gate = createGateTool("gate", { heedsSignal: false });
      const told: string[] = [];
      const engine = await createEngine({
        plugins: [
          plugin("last", ({ store }) => void told.push(`open ${typeof store.list}`), {
            async dispose() {
              const sessions = await engine.store.list();
              told.push(...sessions.map(({ status, holder }) => `${status}, held by ${holder}`));
            },
          }),
        ],
        agents: [{ name: "x", model: createScriptedModel(callsAndStops("gate")), tools: [gate.tool] }],
      });
      const run = engine.agent("x").run("Go", { sessionId: "s" });
      await gate.started;
      await engine.shutdown({ graceMs: 0 });
      expect(told).toEqual(["open function", "tool_running, held by null"]);
      expect((await run).status).toBe("interrupted");
      await expect(engine.store.list()).rejects.toMatchObject({ code: "store_closed" });
    },
  );

  test("disposes of a plugin when its observers have been told everything", verifies("PLUG-1"), async () => {
    const gate = createGateTool();
    const told: string[] = [];
    const engine = await createEngine({
      plugins: [
        plugin(
          "ear",
          ({ registerObserver }) =>
            registerObserver({ onEvent: ({ type }) => void (type === "tool_result" && told.push(type)) }),
          { dispose: () => void told.push("disposed of") },
        ),
      ],
      agents: [{ name: "x", model: createScriptedModel(callsAndStops("gate")), tools: [gate.tool] }],
    });
    void engine.agent("x").run("Go");
    await gate.started;
    const ending = engine.shutdown();
    gate.open("opened");
    await ending;
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual(["tool_result", "disposed of"]);
  });

  test("goes on with its shutdown where a part of it fails, and tells all that did", async () => {
    const { store, failAll } = createFailingStore(createMemoryStore());
    const gate = createGateTool();
    const told: string[] = [];
    const engine = await createEngine({
      store,
      plugins: [
        plugin("first", () => {}, { dispose: () => void told.push("first") }),
        plugin("stuck", () => {}, { dispose: () => Promise.reject(new Error("stuck")) }),
      ],
      agents: [{ name: "x", model: createScriptedModel(callsAndStops("gate")), tools: [gate.tool] }],
    });
    const run = engine.agent("x").run("Go");
    await gate.started;
    failAll();
    await expect(engine.shutdown({ graceMs: 0 })).rejects.toMatchObject({ errors: [{ message: "stuck" }] });
    expect(told).toEqual(["first"]);
    expect((await run).status).toBe("interrupted");
  });

  test("shuts down once, however often it is asked, and with it each agent", async () => {
    const gate = createGateTool();
    const engine = await createEngine({
      agents: [{ name: "x", model: createScriptedModel(callsAndStops("gate")), tools: [gate.tool] }],
    });
    const agent = engine.agent("x");
    const run = agent.run("Go");
    await gate.started;
    const ends = [engine.shutdown(), agent.shutdown(), engine.shutdown()];
    gate.open("opened");
    await Promise.all(ends);
    expect((await run).status).toBe("interrupted");
  });
});
