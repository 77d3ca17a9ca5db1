/**
 * Recorded sessions of what authors reach for: a question within a request, a guard, context sources, a child that a
 * limit ends.
 */
import { z } from "zod";
import { guard, type HandoffView, type Message, type Tool, type UserMessage } from "../../src/index.js";
import { markHeld } from "../../src/ports/held-question.js";
import { agentOf, call, steps, tool, tools } from "./agents.js";
import type { RecordedScenario } from "./sessions.js";

/** As a tool of an MCP server of 2025-11-25: it goes on running while it asks. */
const elicit = tool("elicit", {
  async execute(_input, { ask, attempt }) {
    const asked = (name: string, more: object = {}) =>
      ask(markHeld({ name: `${name}.${attempt}`, message: `The server asks: ${name}?`, ...more }));
    const [one, two] = await Promise.all([
      asked("one", { schema: { type: "string" } }),
      asked("two", { expiresInMs: 60_000 }),
    ]);
    return `${one.type} ${two.type}`;
  },
});

const transfer = (to: string) => ({ name: `transfer_to_${to}`, input: { message: "Yours." } });

/** A short message, one that is long enough for a blob, and what came last, its result of `data` shortened. */
function shortened({ messages }: HandoffView): readonly Message[] {
  const said = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
  const short = messages.map((message): Message => {
    if (message.role !== "tool") return message;
    const parts = message.parts.map((part) =>
      part.type === "tool_result" && part.name === "data"
        ? { ...part, output: { type: "text" as const, text: "found" } }
        : part,
    );
    return { ...message, parts };
  });
  return [said("Take over."), said("The rules. ".repeat(120)), ...short];
}

export const authorScenarios: readonly RecordedScenario[] = [
  {
    name: "asked-while-running",
    about:
      "a tool that asks twice and goes on running: one question is answered, then the process dies; and the whole of it",
    parts: () => agentOf(steps({ calls: [call("elicit")] }, { text: "Asked." }), { tools: [elicit] }),
    async play({ bench, session, ask, restart }) {
      await ask("Ask.", "r");
      await session.answer("r/1/1", { type: "reply", value: "yes" }, { questionId: "one.1", by: "Ada" });
      await bench.settle();
      const next = restart();
      await next.session.resume().catch(() => {});
      await bench.settle();
      await next.ask("Ask again.", "r2");
      await next.session.answer("r2/1/1", { type: "decline", note: "no" }, { questionId: "one.1" });
      await bench.settle();
      await bench.clock.advance(61_000);
      await bench.settle();
    },
  },
  {
    name: "guard-tripped",
    about: "a guard ends a model call, and the run with it",
    parts: () =>
      agentOf(steps({ text: "The key is 17." }), {
        hooks: [guard({ name: "keys", output: ({ text }) => (text.includes("key") ? { trip: "a key" } : undefined) })],
      }),
    play: ({ ask }) => ask("Which key?", "r"),
  },
  {
    name: "sources",
    about: "texts of context sources, which differ in the next run",
    parts() {
      let loads = 0;
      const load = () => {
        loads += 1;
        return [{ name: "rules", path: "/repo/RULES", text: `Version ${loads}.`, trust: "project" as const }];
      };
      return agentOf(steps({ calls: [call("look")] }, { text: "Done." }), {
        context: { sources: [{ name: "rules", load }] },
      });
    },
    async play({ ask }) {
      await ask("Look.", "r");
      await ask("Look again.", "r2");
    },
  },
  {
    name: "run-prompt",
    about:
      "params with a default, and a system prompt that is made from them once for each run; the process dies in between",
    parts() {
      let calls = 0;
      return agentOf(steps({ calls: [call("guarded")] }, { text: "Done." }), {
        params: z.object({ locale: z.string().default("en") }),
        systemPrompt: ({ params }) => {
          calls += 1;
          return `Answer in ${(params as { readonly locale: string }).locale}. Call ${calls}.`;
        },
      });
    },
    async play({ bench, ask, restart }) {
      await ask("Do it.", "r");
      const next = restart();
      await next.session.answer("r/1/1", { type: "approve" });
      await next.session.resume().catch(() => {});
      await bench.settle();
      next.agent.run("Again.", { sessionId: "s", runId: "r2", params: { locale: "de" } }).catch(() => {});
      await bench.settle();
    },
  },
  {
    name: "renamed",
    about: "titles that people gave the session, while it waited and at rest; a fork has the first of them",
    parts: () => agentOf(steps({ calls: [call("guarded")] }, { text: "Done." })),
    async play({ bench, agent, session, ask }) {
      await ask("Do it if you may.", "r");
      await session.rename("The first title", { by: "Ada" });
      await session.fork({ sessionId: "fork" });
      await session.answer("r/1/1", { type: "approve" });
      await bench.settle();
      await session.rename("The second title");
      void agent.session("fork").send("Something else.", { runId: "other" });
      await bench.settle();
    },
  },
  {
    name: "redacted",
    about: "a key was said, and taken out of the log; then a call, and another run",
    parts: () =>
      agentOf(steps({ text: "It is key-4711.", calls: [call("look"), call("look", { n: 2 })] }, { text: "Done." })),
    async play({ bench, session, ask }) {
      await ask("Use key-4711 for it.", "r");
      await session.redact({ text: "key-4711", by: "Ada", note: "A key was pasted." });
      await session.redact({ callKey: "r/1/2" });
      await ask("Go on.", "r2");
      await bench.settle();
    },
  },
  {
    name: "child-cut-short",
    about: "a child agent that a limit ends gives what it has found",
    parts(bench) {
      const found = { text: "So far: a catch.", calls: [call("look")] };
      const researcher = bench.start(
        agentOf(steps(found, found), { name: "researcher", limits: { maxSteps: 1 } }),
      ).agent;
      const delegate = { name: "researcher", input: { task: "What is a pawl?" } };
      return agentOf(steps({ calls: [delegate] }, { text: "A catch." }), {
        tools: [...tools, researcher.asTool({ description: "Researches a question." })],
      });
    },
    async play({ bench, ask }) {
      await ask("What is a pawl?", "r");
      await bench.settle();
    },
  },
  {
    name: "handoff-filters",
    about: "handoffs that filter what the next agent sees: by a function, which adds and shortens; and as text",
    parts(bench) {
      const last = bench.start(agentOf(steps(), { name: "last" })).agent;
      const toLast = { name: "last", description: "Ends it.", agent: () => last, filter: "text" } as const;
      const { agent: next } = bench.start(
        agentOf(steps({}, {}, { calls: [call("look")] }, { calls: [transfer("last")] }), {
          name: "next",
          handoffs: [toLast],
        }),
      );
      const toNext = { name: "next", description: "Goes on.", agent: () => next, filter: shortened };
      const looks = { text: "Looking.", calls: [call("look"), call("data")] };
      return agentOf(steps(looks, { calls: [transfer("next")] }), { handoffs: [toNext] });
    },
    async play({ ask }) {
      await ask("Look, and hand it over.", "r");
      await ask("And then?", "r2");
    },
  },
  {
    name: "model-outputs",
    about:
      "tools whose models read another output than they returned: small, large, in vain, from outside and late; then such a result in the inbox",
    parts(bench) {
      const shown = (name: string, execute: Tool["execute"], more: Partial<Tool> = {}) =>
        tool(name, { toModelOutput: () => `${name} gave something`, ...(execute && { execute }), ...more });
      const after = (ms: number) => () => new Promise((resolve) => bench.clock.after(ms, () => resolve([ms])));
      const shownTools = [
        shown("rows", () => ({ found: [1, "two", null] })),
        shown("large", () => "A line of many.\n".repeat(3_300)),
        shown("broken", () => ["all"], {
          toModelOutput() {
            throw new Error("no view");
          },
        }),
        shown("slow", after(9_000)),
        shown("slower", after(1_000_000)),
      ];
      const outside: Tool = {
        name: "outside",
        description: "Is done elsewhere.",
        input: { type: "object" },
        toModelOutput: ({ output }) => `given: ${typeof output}`,
      };
      return agentOf(
        ({ runId, modelCallIndex }) => {
          if (modelCallIndex > 1 || (runId !== "r" && runId !== "slow")) return { text: "So be it." };
          const names = runId === "r" ? ["rows", "large", "broken", "outside"] : ["slow", "slower"];
          return { calls: names.map((one) => call(one)) };
        },
        { tools: [...shownTools, outside] },
      );
    },
    async play({ bench, session, ask, kill }) {
      await ask("Do all.", "r");
      await session.provideResult("r/1/4", { given: true });
      await bench.settle();
      await ask("Take your time.", "slow");
      await session.abort();
      await bench.clock.advance(6_000);
      await bench.settle();
      await ask("What now?", "last");
      await bench.clock.advance(10_000);
      await bench.settle();
      kill();
      const output = { type: "text", text: "slower gave something" } as const;
      const body = { type: "result", callKey: "slow/1/2", output, returned: { type: "json", value: [2] } } as const;
      await bench.store.post("s", { id: "late/slow/1/2", at: bench.clock.now(), body });
    },
  },
  {
    name: "overruled",
    about: "approvals that a rule overruled, because it was stricter by then; one of them is in the inbox",
    parts() {
      const asked = new Set<string>();
      const rule = { verdict: "deny", kind: "tool", pattern: "guarded", scope: "session" } as const;
      return agentOf(steps({ calls: [call("look"), call("questioned")] }, { text: "Not done." }), {
        canExecuteTool({ callKey, tool: { name } }) {
          if (name !== "questioned") return "allow";
          if (asked.has(callKey)) return { verdict: "deny", reason: "it is closed by now", rule };
          asked.add(callKey);
          return { verdict: "ask", question: "May it?" };
        },
      });
    },
    async play({ bench, session, ask, kill }) {
      await ask("Do it if you may.", "r");
      await session.answer("r/1/2", { type: "approve" }, { by: "Ada" });
      await bench.settle();
      await ask("Try again.", "r2");
      const { inputHash = "" } = (await session.pendingApprovals())[0] ?? {};
      kill();
      const body = { type: "answer", callKey: "r2/1/2", answer: { type: "approve" }, by: "Ada", inputHash } as const;
      await bench.store.post("s", { id: "m1", at: bench.clock.now(), body });
    },
  },
  {
    name: "interrupting",
    about: "requests that interrupted the run under way: in its tool, while it waited for a person, and in the inbox",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) => {
        if (modelCallIndex > 1) return { text: "Done." };
        if (runId === "r" || runId === "r4") return { calls: [call("again")] };
        return { text: "Yes.", calls: [call(runId === "r2" ? "guarded" : "look")] };
      }),
    async play({ bench, session, ask, kill }) {
      await ask("Do it.", "r");
      await session.send("Do that instead.", { runId: "r2", mode: "interrupt", by: "Ada" });
      await bench.clock.advance(6_000);
      await bench.settle();
      await session.send("No, that.", { runId: "r3", mode: "interrupt" });
      await bench.settle();
      await ask("Once more.", "r4");
      const { state } = (await bench.store.load("s")) ?? {};
      kill();
      if (state === undefined || state.status === "idle" || state.session === null) throw new Error("nothing ran");
      const input: readonly UserMessage[] = [{ role: "user", parts: [{ type: "text", text: "This, at once." }] }];
      const said = { input, limits: state.limits, session: state.session, by: "Ada" } as const;
      const body = { type: "input", mode: "queue", interrupts: true, runId: "r5", ...said } as const;
      await bench.store.post("s", { id: "run/r5", at: bench.clock.now(), body });
    },
  },
];
