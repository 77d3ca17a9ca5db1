/**
 * Plugins: the order of their setup, what they may register, and what follows where one fails.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createEngine,
  createMemoryStore,
  createPluginManager,
  PawlError,
  type Plugin,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

/** A plugin that tells when it is set up and disposed of. */
function telling(name: string, told: string[], more: Partial<Plugin> = {}): Plugin {
  return {
    name,
    version: "1.0.0",
    setup: () => void told.push(`+${name}`),
    dispose: () => void told.push(`-${name}`),
    ...more,
  };
}

const toolNamed = (name: string, says: string): AnyTool => ({
  name,
  description: "Says something.",
  input: { type: "object" },
  execute: () => says,
});

/** What an engine with these plugins is refused with. */
async function refusalOf(plugins: readonly Plugin[]): Promise<PawlError> {
  const refused = await createEngine({ plugins, agents: [] }).catch((error: unknown) => error);
  if (refused instanceof PawlError) return refused;
  throw new Error(`It was not refused with a PawlError: ${String(refused)}`);
}

describe("the order", () => {
  test(
    "is that of what they depend on, else that of the list; they are disposed of in reverse, once",
    verifies("PLUG-1"),
    async () => {
      const told: string[] = [];
      const engine = await createEngine({
        plugins: [
          telling("log", told, { dependencies: ["mask", "clock"] }),
          telling("mask", told, { dependencies: ["clock"] }),
          telling("other", told),
          telling("clock", told),
        ],
        agents: [],
      });
      expect(engine.plugins).toEqual(["clock", "mask", "log", "other"].map((name) => ({ name, version: "1.0.0" })));
      expect(told).toEqual(["+clock", "+mask", "+log", "+other"]);
      await Promise.all([engine.shutdown(), engine.shutdown()]);
      await engine.shutdown();
      expect(told.slice(4)).toEqual(["-other", "-log", "-mask", "-clock"]);
    },
  );

  test("waits for a setup that takes its time", verifies("PLUG-1"), async () => {
    const told: string[] = [];
    const slow = telling("slow", told, {
      async setup() {
        await new Promise((resolve) => setImmediate(resolve));
        told.push("+slow");
      },
    });
    await createEngine({ plugins: [telling("needs it", told, { dependencies: ["slow"] }), slow], agents: [] });
    expect(told).toEqual(["+slow", "+needs it"]);
  });

  test("a dependency that is missing is an error that names the path", verifies("PLUG-1"), async () => {
    const told: string[] = [];
    const plugins = [telling("a", told, { dependencies: ["b"] }), telling("b", told, { dependencies: ["c"] })];
    const { code, message } = await refusalOf(plugins);
    expect(code).toBe("bad_configuration");
    expect(message).toContain('"c" is missing: a → b → c');
    expect(told).toEqual([]);
  });

  test("a circle is an error that names it, without what leads to it", verifies("PLUG-1"), async () => {
    const told: string[] = [];
    const plugins = [
      telling("first", told, { dependencies: ["a"] }),
      telling("a", told, { dependencies: ["b"] }),
      telling("b", told, { dependencies: ["c"] }),
      telling("c", told, { dependencies: ["a"] }),
    ];
    const { code, message } = await refusalOf(plugins);
    expect(code).toBe("bad_configuration");
    expect(message).toContain("in a cycle: a → b → c → a.");
    expect((await refusalOf([telling("self", told, { dependencies: ["self"] })])).message).toContain("self → self");
    expect(told).toEqual([]);
  });

  test("holds for a thousand plugins, each depending on the next", async () => {
    const told: string[] = [];
    const names = Array.from({ length: 1_000 }, (_, index) => `p${index}`);
    const plugins = names.map((name, index) => {
      const next = names[index + 1];
      return telling(name, told, next === undefined ? {} : { dependencies: [next] });
    });
    const engine = await createEngine({ plugins, agents: [] });
    expect(told).toEqual([...names].reverse().map((name) => `+${name}`));
    await engine.shutdown();
    expect(told.slice(1_000)).toEqual(names.map((name) => `-${name}`));
  });

  test.each([
    ["two of one name", [telling("a", []), telling("a", [])], 'Two plugins are named "a"'],
    ["no name", [telling("", [])], "A plugin's `name` is missing or invalid"],
    ["no version", [telling("a", [], { version: "" })], 'The plugin "a" has no `version`'],
    ["no setup", [{ name: "a", version: "1" } as Plugin], "has no setup(context) function"],
    [
      "dependencies that are none",
      [telling("a", [], { dependencies: "b" as never })],
      "must be an array of plugin names",
    ],
  ])("%s is refused", async (_, plugins, message) => {
    expect(await refusalOf(plugins)).toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining(message),
    });
  });
});

describe("a setup that fails", () => {
  test("disposes of what began, in reverse, and names the plugin", verifies("PLUG-1"), async () => {
    const told: string[] = [];
    const failing = telling("failing", told, {
      setup() {
        throw new Error("no disk");
      },
    });
    const refused = await refusalOf([telling("a", told), telling("b", told), failing, telling("never", told)]);
    expect(refused).toMatchObject({
      code: "plugin_failed",
      message: 'The plugin "failing" could not be set up: no disk',
      cause: { message: "no disk" },
    });
    expect(told).toEqual(["+a", "+b", "-failing", "-b", "-a"]);
  });

  test("keeps its code where it has one; what fails while the others are disposed of is told too", async () => {
    const told: string[] = [];
    const failing = telling("failing", told, {
      setup: () => Promise.reject(new PawlError("missing_package", "Install it.")),
    });
    expect(await refusalOf([telling("a", told), failing])).toMatchObject({ code: "missing_package" });
    const stubborn = telling("stubborn", told, { dispose: () => Promise.reject(new Error("stays")) });
    const refused = await refusalOf([telling("b", told), stubborn, failing]);
    expect(refused).toMatchObject({ code: "plugin_failed", message: expect.stringContaining("Install it.") });
    expect((refused.cause as AggregateError).errors).toMatchObject([{ code: "missing_package" }, { message: "stays" }]);
    expect(told.slice(-2)).toEqual(["-failing", "-b"]);
  });

  test("agents that cannot be made dispose of the plugins too", verifies("PLUG-1"), async () => {
    const told: string[] = [];
    const model = createScriptedModel([]);
    const made = (dispose?: Plugin["dispose"]) =>
      createEngine({
        plugins: [telling("a", told, dispose === undefined ? {} : { dispose })],
        agents: [{ name: "x", model, limits: { maxSteps: 0 } }],
      });
    await expect(made()).rejects.toMatchObject({ code: "bad_configuration" });
    expect(told).toEqual(["+a", "-a"]);
    await expect(made(() => Promise.reject(new Error("stays")))).rejects.toMatchObject({
      errors: [{ code: "bad_configuration" }, { errors: [{ message: "stays" }] }],
    });
  });

  test("at the shutdown one that throws keeps no other from being disposed of", verifies("PLUG-1"), async () => {
    const told: string[] = [];
    const throwing = telling("throwing", told, {
      dispose() {
        throw new Error("stuck");
      },
    });
    const engine = await createEngine({ plugins: [telling("a", told), throwing, telling("b", told)], agents: [] });
    await expect(engine.shutdown()).rejects.toMatchObject({ errors: [{ message: "stuck" }] });
    expect(told).toEqual(["+a", "+throwing", "+b", "-b", "-a"]);
  });
});

describe("names", () => {
  const registering = (name: string, setup: Plugin["setup"]): Plugin => ({ name, version: "1", setup });

  test("two plugins with one tool are an error that names both", verifies("PLUG-2"), async () => {
    const plugins = ["left", "right"].map((name) =>
      registering(name, ({ registerTool }) => registerTool(toolNamed("search", name))),
    );
    expect(await refusalOf(plugins)).toMatchObject({
      code: "duplicate_tool",
      message: 'The plugins "left" and "right" both register the tool "search". Remove one of them.',
    });
  });

  test("so are two models, two services, and one plugin that registers a tool twice", verifies("PLUG-2"), async () => {
    const model = createScriptedModel([]);
    const models = ["a", "b"].map((name) => registering(name, ({ registerModel }) => registerModel("fast", model)));
    expect((await refusalOf(models)).message).toContain('"a" and "b" both register the model "fast"');
    const services = ["a", "b"].map((name) => registering(name, ({ registerService }) => registerService("bus", name)));
    expect((await refusalOf(services)).message).toContain('"a" and "b" both register the service "bus"');
    const twice = registering("a", ({ registerTool }) => {
      registerTool(toolNamed("search", "1"));
      registerTool(toolNamed("search", "2"));
    });
    expect((await refusalOf([twice])).message).toContain('"a" registers the tool "search" twice');
  });

  test("nothing is registered after the setup", async () => {
    let late: () => void = () => {};
    const lazy = registering("lazy", ({ registerTool }) => {
      late = () => registerTool(toolNamed("late", "late"));
    });
    const engine = await createEngine({ plugins: [lazy], agents: [] });
    expect(late).toThrow('The plugin "lazy" registered the tool "late" after its setup had ended.');
    await engine.shutdown();
  });
});

test(
  "a manager without an engine sets its plugins up once, and gives what they registered",
  verifies("PLUG-1"),
  async () => {
    const store = createMemoryStore();
    const manager = createPluginManager<never>([
      {
        name: "a",
        version: "1",
        setup({ registerTool, registerService, store: given }) {
          registerTool(toolNamed("search", "found"));
          registerService("bus", given);
        },
      },
    ]);
    const { tools, services } = await manager.load(store);
    expect([...tools.keys()]).toEqual(["search"]);
    expect(services.get("bus")).toBe(store);
    await expect(manager.load(store)).rejects.toMatchObject({ code: "bad_configuration" });
    await manager.dispose();
  },
);
