/**
 * A run for each line of Pawl in docs/comparison.md, by its heading: what surrounds the line, and what must come of it. What the page
 * says of a kill is checked by crashes before and after every commit.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import * as pawl from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { type CrashPlay, crashTest, createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";
import { agentsFile, skills } from "../../src/tools/index.js";

export type Line = {
  /** Runs the line among these names, and gives its value: a promise if the line waits. */
  // biome-ignore lint/suspicious/noExplicitAny: the value of a line has the type that the line gives it.
  readonly run: (surroundings: { readonly [name: string]: unknown }) => any;
  /** Gives the line to another program, which runs it. */
  readonly hand: () => string;
};

const { createAgent, createMemoryStore, defineTool, stepCount, toolCalled } = pawl;

const input = { type: "object" } as const;

/** A model that gives the same answer for a step each time, so that a crash does not change what it says. */
function modelOf(...steps: readonly ScriptedStep[]) {
  return createScriptedModel(({ modelCallIndex }) => steps[modelCallIndex - 1]);
}

const plainTool = (name: string) =>
  defineTool({ name, description: name, input, readOnly: true, execute: () => "done" });

const eventsOf = ({ log }: CrashPlay, type: string) => log.filter(({ event }) => event.type === type);

/** Each line is run in here, by the heading of its section. */
export const runs: { readonly [heading: string]: (line: Line) => Promise<void> } = {
  async "Durable steps in a tool"(line) {
    const charged = new Map<string, string>();
    const shop = {
      charge(order: string, key: string) {
        charged.set(key, order);
        return `receipt of ${order}`;
      },
    };
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input,
      durable: true,
      async execute(_input, ctx) {
        await ctx.step("price", () => 90);
        return line.run({ ctx, shop, order: "1041" });
      },
    });
    await crashTest({
      agent: () => createAgent({ model: modelOf({ calls: [{ name: "pay" }] }, { text: "Paid." }), tools: [pay] }),
      input: "Pay.",
      patienceMs: 20,
      reset: () => charged.clear(),
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", text: "Paid." });
        expect([...charged.values()]).toEqual(["1041"]);
        expect(eventsOf(play, "tool_step_finished")).toHaveLength(2);
      },
    });
  },

  async "A person asked from inside a tool"(line) {
    let looked = 0;
    const ship = defineTool({
      name: "ship",
      description: "Ships.",
      input,
      durable: true,
      async execute(_input, ctx) {
        await ctx.step("address", () => {
          looked += 1;
          return "Main Street 1";
        });
        const said = await line.run({ ctx });
        return said.type === "answered" && said.value === true ? "shipped" : "kept";
      },
    });
    await crashTest({
      agent: () => createAgent({ model: modelOf({ calls: [{ name: "ship" }] }, { text: "Done." }), tools: [ship] }),
      input: "Ship it.",
      patienceMs: 20,
      respond: ({ why }) => (why === "tool" ? { type: "reply", value: true } : { type: "abort" }),
      reset: () => {
        looked = 0;
      },
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", text: "Done." });
        expect(eventsOf(play, "tool_step_finished")).toHaveLength(1);
        expect(eventsOf(play, "tool_finished")).toMatchObject([{ event: { output: { text: "shipped" } } }]);
      },
    });
    expect(looked).toBeGreaterThan(0);
  },

  async "Retries of a tool"(line) {
    let tries = 0;
    const fetchPage = () => {
      tries += 1;
      if (tries < 3) throw new Error("busy");
      return "the page";
    };
    await crashTest({
      agent: () =>
        createAgent({
          model: modelOf({ calls: [{ name: "fetch_page" }] }, { text: "Read." }),
          tools: [line.run({ defineTool, input, fetchPage })],
        }),
      input: "Read it.",
      reset: () => {
        tries = 0;
      },
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", text: "Read." });
        expect(eventsOf(play, "tool_finished")).toMatchObject([{ event: { outcome: "ok" } }]);
        expect(eventsOf(play, "tool_failed").length).toBeLessThanOrEqual(2);
      },
    });
  },

  async "Tools that report progress"(line) {
    const tool = line.run({ defineTool, input });
    const agent = createAgent({ model: modelOf({ calls: [{ name: "search" }] }, { text: "Found." }), tools: [tool] });
    const stream = agent.runStream("Search.");
    const shown: unknown[] = [];
    for await (const item of stream) {
      if (item.type === "preliminary") shown.push(item.output);
      if (item.type === "tool_result") shown.push(item.output);
    }
    expect(shown).toMatchObject([
      { type: "text", text: "half of it" },
      { type: "text", text: "all of it" },
    ]);
    expect(await stream.result).toMatchObject({ status: "completed", text: "Found." });
  },

  async "Repair of malformed calls"(line) {
    const aliases = { look_up: "search" };
    await crashTest({
      agent: () =>
        line.run({
          createAgent,
          aliases,
          model: modelOf({ calls: [{ name: "look_up" }] }, { text: "Found." }),
          tools: [plainTool("search")],
        }),
      input: "Search.",
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", text: "Found." });
        expect(eventsOf(play, "tool_finished")).toMatchObject([{ event: { outcome: "ok" } }]);
        expect(eventsOf(play, "tool_decided")).toMatchObject([{ event: { decision: { repair: { by: "custom" } } } }]);
      },
    });
  },

  async Handoffs(line) {
    await crashTest({
      agent() {
        const billing = createAgent({ name: "billing", model: modelOf({ text: "no" }, { text: "It is paid." }) });
        return line.run({ createAgent, billing, model: modelOf({ calls: [{ name: "transfer_to_billing" }] }) });
      },
      input: "Is invoice 7 paid?",
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", text: "It is paid." });
        expect(eventsOf(play, "handed_off")).toMatchObject([{ event: { from: "triage", to: "billing" } }]);
      },
    });
  },

  async "The conversation in a tool"(line) {
    const count = defineTool({
      name: "count",
      description: "Counts the user's messages.",
      input,
      recover: "rerun",
      execute: (_input, ctx) => line.run({ ctx }).length,
    });
    await crashTest({
      agent: () => createAgent({ model: modelOf({ calls: [{ name: "count" }] }, { text: "One." }), tools: [count] }),
      input: "How many have I sent?",
      check: (play) =>
        expect(eventsOf(play, "tool_finished")).toMatchObject([{ event: { outcome: "ok", output: { value: 1 } } }]),
    });
  },

  async "Session data in a tool"(line) {
    const add = defineTool({
      name: "add",
      description: "Adds an article.",
      input: { type: "object", properties: { article: { type: "string" } } } as const,
      recover: "rerun",
      execute({ article }, ctx) {
        line.run({ ctx, article });
        return "added";
      },
    });
    const carts: unknown[] = [];
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input,
      readOnly: true,
      execute(_input, { data }) {
        carts.push(data.get("cart"));
        return "seen";
      },
    });
    const calls = ["pen", "ink"].map((article) => ({ name: "add", input: { article } }));
    await crashTest({
      agent: () =>
        createAgent({ model: modelOf({ calls }, { calls: [{ name: "look" }] }, { text: "Two." }), tools: [add, look] }),
      input: "Add both.",
      check({ result }) {
        expect(result).toMatchObject({ status: "completed", text: "Two." });
        expect([...(carts.at(-1) as string[])].sort()).toEqual(["ink", "pen"]);
      },
    });
  },

  async "The events of a child on its parent's stream"(line) {
    const researcher = createAgent({ name: "researcher", model: modelOf({ text: "90 EUR." }) });
    const research = researcher.asTool({ name: "research", description: "Researches." });
    const model = modelOf({ calls: [{ name: "research", input: { task: "The offers?" } }] }, { text: "Take it." });
    const agent = createAgent({ name: "buyer", model, tools: [research] });
    const seen: pawl.FamilyItem[] = [];
    for await (const item of line.run({ agent }) as AsyncIterable<pawl.FamilyItem>)
      if ("cursor" in item) seen.push(item);
    const at = seen.findIndex(({ type, depth }) => type === "message" && depth === 1);
    const said = seen[at];
    expect(said?.type === "message" && pawl.textOf(said.message)).toBe("90 EUR.");
    // A reader that comes back behind what the child said is given the rest.
    const cursor = said !== undefined && "cursor" in said ? said.cursor : 0;
    const rest: pawl.FamilyItem[] = [];
    for await (const item of agent.session(seen[0]?.sessionId ?? "").events({ children: true, after: cursor })) {
      if ("cursor" in item) rest.push(item);
      if (item.type === "final" && item.depth === 0) break;
    }
    expect(rest).toEqual(seen.slice(at + 1));
  },

  async "An output schema for a child"(line) {
    const findings = { type: "object", properties: { price: { type: "number" } }, required: ["price"] } as const;
    await crashTest({
      agent() {
        const researcher = createAgent({ name: "researcher", model: modelOf({ text: '{"price": 90}' }) });
        const model = modelOf({ calls: [{ name: "research", input: { task: "The price?" } }] }, { text: "90 EUR." });
        return createAgent({ model, tools: [line.run({ researcher, findings })] });
      },
      input: "What does it cost?",
      quietMs: 2,
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", text: "90 EUR." });
        expect(eventsOf(play, "tool_finished")).toMatchObject([{ event: { output: { value: { price: 90 } } } }]);
      },
    });
  },

  async "The results of a child that was cut off"(line) {
    const model = modelOf(
      { text: "The first offer is 90 EUR.", calls: [{ name: "look" }] },
      { text: "The second is 80 EUR.", calls: [{ name: "look" }] },
    );
    const research = line.run({ createAgent, model, tools: [plainTool("look")] });
    const parent = createScriptedModel([
      { calls: [{ name: "research", input: { task: "Compare." } }] },
      { text: "Take the second." },
    ]);
    await createAgent({ model: parent, tools: [research] }).run("Which one?");
    const shown = JSON.stringify(parent.requests[1]?.messages);
    expect(shown).toContain("[Cut short: max_steps.]");
    expect(shown).toContain("The second is 80 EUR.");
  },

  async "Settings, model and messages for one call"(line) {
    const store = createMemoryStore();
    const fast = createScriptedModel([{ text: "First." }, { text: "Second." }]);
    const agent: pawl.Agent = line
      .run({ createAgent, model: modelOf(), models: { fast }, lastTurn: (all: readonly unknown[]) => all.slice(-1) })
      .with({ store });
    await agent.run("One.", { sessionId: "s" });
    expect(await agent.run("Two.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Second." });
    expect(fast.requests[1]).toMatchObject({ temperature: 0, messages: [{ role: "user" }] });
    const told: unknown[] = [];
    for await (const { messages } of modelRequests(store, "s")) told.push(messages);
    expect(told).toEqual(fast.requests.map(({ messages }) => messages));
  },

  async "Stop conditions"(line) {
    const steps = [{ calls: [{ name: "look" }] }, { calls: [{ name: "submit" }] }, { text: "too far" }];
    const tools = [plainTool("look"), plainTool("submit")];
    await crashTest({
      agent: () => line.run({ createAgent, stepCount, toolCalled, tools, model: modelOf(...steps) }),
      input: "Submit it.",
      check(play) {
        expect(play.result).toMatchObject({ status: "completed", reason: "stop_condition" });
        expect(eventsOf(play, "model_finished")).toHaveLength(2);
      },
    });
  },

  async "Starting from an existing conversation"(line) {
    const messages = [
      { role: "user", content: "My name is Ada." },
      { role: "assistant", content: "Good day, Ada." },
    ];
    const model = createScriptedModel([{ text: "Yes, Ada." }]);
    expect(await line.run({ agent: createAgent({ model }), messages })).toMatchObject({ status: "completed" });
    expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  },

  async "Partial structured output"(line) {
    const report = { type: "object", properties: { files: { type: "array", items: { type: "string" } } } } as const;
    const model = modelOf({ text: '{"files": ["a.ts", "b.ts", "c.ts"]}', chunk: 4 });
    const shown: unknown[] = [];
    await line.run({ agent: createAgent({ model }), report, show: (value: unknown) => shown.push(value) });
    expect(shown.length).toBeGreaterThan(0);
  },

  async Guardrails(line) {
    const tellsSecrets = (text: string) => text.includes("hunter2");
    const guarded = (text: string) =>
      createAgent({ model: modelOf({ text }), hooks: [line.run({ guard: pawl.guard, tellsSecrets })] });
    const stream = guarded("The password is hunter2.").runStream("Tell me.");
    const items: unknown[] = [];
    for await (const item of stream) items.push(item);
    expect(await stream.result).toMatchObject({ status: "failed", reason: "output_refused" });
    expect(JSON.stringify(items)).not.toContain("hunter2");
    expect(await guarded("Nothing here.").run("Tell me.")).toMatchObject({ status: "completed" });
  },

  async "Skills and AGENTS.md"(line) {
    const root = mkdtempSync(join(tmpdir(), "pawl-comparison-"));
    try {
      mkdirSync(join(root, "skills/release"), { recursive: true });
      writeFileSync(join(root, "AGENTS.md"), "Write short sentences.\n");
      writeFileSync(
        join(root, "skills/release/SKILL.md"),
        "---\nname: release\ndescription: How a release is made.\n---\nTag it.\n",
      );
      const model = createScriptedModel([{ text: "Done." }]);
      const agent = line.run({ createAgent, model, agentsFile, skills, root, join });
      expect(await agent.run("Go.")).toMatchObject({ status: "completed" });
      expect(model.requests[0]?.systemPrompt).toContain("Write short sentences.");
      expect(model.requests[0]?.systemPrompt).toContain("How a release is made.");
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },

  async "Edge runtimes"(line) {
    const program = `
      const { createAgent } = ${line.hand()};
      const model = {
        id: "own/model",
        async *stream() {
          yield { kind: "text-start", id: "1" };
          yield { kind: "text-delta", id: "1", text: "Hello." };
          yield { kind: "text-end", id: "1" };
          yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 1, outputTokens: 1 } };
        },
      };
      console.log(import.meta.resolve("pawl"), (await createAgent({ model }).run("Hi.")).text);`;
    const options = ["--conditions=workerd", "--input-type=module", "--eval", program];
    const { stdout, stderr } = spawnSync(process.execPath, options, { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/dist\/web\/index\.js Hello\.$/m);
  },
};
