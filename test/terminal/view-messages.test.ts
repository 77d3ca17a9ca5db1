/**
 * Messages that reach a run in progress: where they are shown, and what becomes of them.
 */
import { describe, expect, test } from "vitest";
import { renderStatusLine } from "../../src/cli/conversation/fronts/status-line.js";
import { createView } from "../../src/cli/conversation/view/view.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import { type Agent, createAgent, createMemoryStore, type ModelDelta, type Session } from "../../src/index.js";
import { createScriptedModel, type Script, type ScriptedStep } from "../../src/testing/index.js";

/** A step that streams `before`, then does `act`, then streams `after`. */
function pausing(before: string, act: () => Promise<unknown>, after: string): ScriptedStep {
  async function* stream(): AsyncGenerator<ModelDelta> {
    yield { kind: "text-start", id: "t" };
    yield { kind: "text-delta", id: "t", text: before };
    await act();
    yield { kind: "text-delta", id: "t", text: after };
    yield { kind: "text-end", id: "t" };
    yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
  }
  return { deltas: stream() };
}

type Watched = { readonly lines: readonly string[]; readonly replayed: readonly string[]; readonly open: string };

/** Runs a script, and returns the lines of a view that watches, those of a view that reads the log, and what was open below. */
async function watch(makeScript: (session: () => Session) => Script): Promise<Watched> {
  const store = createMemoryStore();
  let agent: Agent | null = null;
  const session = () => {
    if (agent === null) throw new Error("There is no agent yet.");
    return agent.session("s");
  };
  const tools = [{ name: "look", description: "Looks.", input: { type: "object" } as const, execute: () => "seen" }];
  agent = createAgent({ name: "a", model: createScriptedModel(makeScript(session)), tools, store });
  const view = createView();
  const lines: string[] = [];
  const open: string[] = [];
  for await (const item of agent.runStream("go", { sessionId: "s" })) {
    view.show(item, 120, 1_000);
    lines.push(...view.takeHistory().map((line) => toPlainText(line).trimEnd()));
    open.push(...view.open(120, 10, 1_000).map(toPlainText));
  }
  const later = createView();
  for await (const item of session().events({ follow: false })) later.show(item, 120, 1_000);
  return { lines, replayed: later.takeHistory().map((line) => toPlainText(line).trimEnd()), open: open.join("\n") };
}

describe("a message to a run", () => {
  test("does not split a sentence that the model is writing: it is shown below, and follows the text", async () => {
    const { lines, replayed, open } = await watch((session) => [
      pausing("One long ", () => session().steer("use tabs"), "sentence."),
      { text: "With tabs." },
    ]);
    const expected = [
      "> go",
      "",
      "One long sentence.",
      "",
      "↳ you, before the next model call: use tabs",
      "",
      "With tabs.",
    ];
    expect(lines).toEqual(expected);
    expect(replayed).toEqual(expected);
    expect(open).toContain("↳ you, before the next model call: use tabs");
  });

  test("that a stopped run has not read is said to stay in the conversation", async () => {
    const { lines, replayed } = await watch((session) => [
      pausing(
        "One long ",
        async () => {
          await session().steer("use tabs");
          await session().steer("and be brief");
          await session().abort();
        },
        "sentence.",
      ),
    ]);
    const note = "The model has not read your last 2 messages. They are in the conversation, and the model gets them";
    for (const shown of [lines, replayed]) {
      expect(shown.slice(-4)).toEqual(["", "Stopped. Everything that ran is recorded.", note, "with your next one."]);
      expect(shown.indexOf("One long")).toBeLessThan(shown.indexOf("↳ you, before the next model call: use tabs"));
    }
  });

  test("that the model got before the run was stopped is not mentioned", async () => {
    const { lines } = await watch((session) => [
      { ...pausing("I look.", () => session().steer("use tabs"), "") },
      pausing("With ", () => session().abort(), "tabs."),
    ]);
    expect(lines.at(-1)).toBe("Stopped. Everything that ran is recorded.");
  });
});

describe("an agent in the background", () => {
  function makeAgent(answer: ScriptedStep): Agent {
    const store = createMemoryStore();
    const child = createAgent({ name: "pawl/reviewer", model: createScriptedModel([answer]) });
    const script: Script = [
      { calls: [{ name: "agent_reviewer", input: { task: "Review a.ts." } }] },
      { text: "Started." },
      { text: "Thank you." },
    ];
    return createAgent({
      name: "pawl",
      model: createScriptedModel(script),
      store,
      tools: [child.asTool({ name: "agent_reviewer", description: "Reviews.", background: true })],
    });
  }

  test.each([
    ["has ended", { text: "All is well." }, "↳ Agent reviewer has ended: Review a.ts."],
    [
      "has failed",
      { error: { kind: "auth", message: "no key", retryable: false } },
      "↳ Agent reviewer has failed (model_error): Review a.ts.",
    ],
  ] as const)("that %s is reported in the words of a person, and counted until then", async (_, answer, expected) => {
    const agent = makeAgent(answer as ScriptedStep);
    const view = createView();
    const lines: string[] = [];
    const statuses: string[] = [];
    let hasReported = false;
    const started = await agent.run("go", { sessionId: "s" });
    expect(started.status).toBe("completed");
    for await (const item of agent.session("s").events({ signal: AbortSignal.timeout(60_000) })) {
      view.show(item, 120, 1_000);
      lines.push(...view.takeHistory().map((line) => toPlainText(line).trimEnd()));
      statuses.push(toPlainText(renderStatusLine(view.state(), { columns: 120, now: 1_000, questions: 0 })));
      // The message joins the run in progress, or begins the next one.
      hasReported ||= "finishedChild" in item;
      if (item.type === "final" && hasReported) break;
    }
    expect(lines.find((line) => line.startsWith("✓ agent_reviewer"))).toMatch(
      / · works in the background as [0-9a-f]{8}/,
    );
    expect(lines).toContain(expected);
    expect(lines.join("\n")).not.toMatch(/not from the user|read_agent/);
    expect(statuses.some((line) => line.includes("1 agent at work"))).toBe(true);
    expect(statuses.at(-1)).not.toContain("at work");
  });
});
