/**
 * Compactions that go well, badly or not at all (docs/compaction.md).
 */
import { afterAll, describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Message, textOf, toolCallsOf } from "../../src/index.js";
import { createScriptedModel, type Script, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEvents, filterEventsOfType } from "../support/agents.js";
import { expectTable } from "../support/docs-page.js";
import { verifies } from "../verifies.js";

const words = "A sentence of some length that fills the window. ".repeat(12);

/** Says a lot and calls a tool, so many times, then ends. */
function talking(steps: number): Script {
  return ({ modelCallIndex: n }) =>
    n <= steps
      ? { text: `${n}: ${words}`, calls: [{ name: "echo", input: { n } }], usage: {} }
      : { text: "Done.", usage: {} };
}

async function run(steps: number, summaries: Script, maxCompactions = 20) {
  const model = createScriptedModel(talking(steps));
  const summarizer = createScriptedModel(summaries, { id: "summarizer" });
  const store = createMemoryStore();
  const agent = createAgent({
    model,
    tools: [createEchoTool().tool],
    store,
    retry: { maxRetries: 0 },
    limits: { maxCompactions, maxSteps: 1_000 },
    compaction: { contextWindow: 4_000, reservedOutput: 1_000, model: summarizer },
  });
  const stream = agent.runStream("Talk.", { sessionId: "s" });
  const events = filterEventsOfType(filterEvents(await collect(stream)), "compacted");
  const result = await stream.result;
  const { state } = await agent
    .session("s")
    .state()
    .then((view) => ({ state: view }));
  return { result, events, requests: model.requests, asked: summarizer.requests, state, store };
}

type Ran = Awaited<ReturnType<typeof run>>;

function attemptsOf({ state }: Ran): number {
  return "counters" in state ? state.counters.compactionAttempts : 0;
}

function callsAndResults(messages: readonly Message[]): boolean {
  return messages.every((message, index) => {
    if (message.role !== "assistant") return true;
    const next = messages[index + 1];
    const given = next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : [];
    return (
      toolCallsOf(message)
        .map((part) => part.toolCallId)
        .join() === given.join()
    );
  });
}

const decision = (count: number) => `decision ${count} stands`;
const growing = (): Script => {
  let count = 0;
  return () => {
    count += 1;
    return { text: `## Keep\n- ${decision(count)}\n- ${decision(1)}.\n\n## Summary\nSummary ${count}.` };
  };
};

type Case = {
  readonly what: string;
  readonly steps: number;
  readonly summaries: () => Script;
  readonly maxCompactions?: number;
  readonly hold: (ran: Ran) => void;
};

const always = (step: ScriptedStep) => () => () => step;

/** Nothing was replaced, and the run came to its end all the same. */
function unchanged(code: string) {
  return ({ events, requests, result }: Ran) => {
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) expect(event).toMatchObject({ fault: { code } });
    for (const { summary } of events) expect(summary).toBeUndefined();
    expect(result).toMatchObject({ status: "completed" });
    expect(requests.at(-1)?.messages.length).toBe(2 * (requests.length - 1) + 1);
  };
}

const cases: readonly Case[] = [
  {
    what: "summarizes 35 times in a row, and keeps a decision each time",
    steps: 320,
    summaries: growing,
    maxCompactions: 35,
    hold({ events, requests }) {
      expect(events).toHaveLength(35);
      const last = events.at(-1);
      expect(last?.summary).toBe("Summary 35.");
      expect(last?.retained).toEqual(Array.from({ length: 35 }, (_, index) => decision(index + 1)));
      for (const { tokensBefore = 0, tokensAfter = 0 } of events) expect(tokensAfter).toBeLessThan(tokensBefore / 1.5);
      const after = requests.find(({ messages }) => JSON.stringify(messages[0]).includes("Summary 35."));
      expect(textOf(after?.messages[0] as Message)).toContain(decision(1));
    },
  },
  {
    what: "returns more than it was given",
    steps: 24,
    summaries: always({ text: "at length ".repeat(6_000) }),
    hold: unchanged("larger_summary"),
  },
  { what: "returns nothing", steps: 24, summaries: always({ text: " " }), hold: unchanged("empty_summary") },
  {
    what: "fails",
    steps: 24,
    summaries: always({ error: { kind: "overloaded", message: "It is too busy.", statusCode: 529 } }),
    hold: unchanged("summariser_failed"),
  },
  {
    what: "calls a tool and writes no text",
    steps: 24,
    summaries: always({ calls: [{ name: "echo" }] }),
    hold: unchanged("empty_summary"),
  },
  {
    what: "calls a tool and writes a summary",
    steps: 24,
    summaries: always({ text: "Summed up.", calls: [{ name: "echo" }] }),
    hold({ events, result }) {
      for (const event of events) expect(event).toMatchObject({ summary: "Summed up." });
      expect(result).toMatchObject({ status: "completed" });
    },
  },
];

function rowOf({ what }: Case, ran: Ran): readonly string[] {
  const { events, requests, result } = ran;
  const done = events.filter(({ summary }) => summary !== undefined).length;
  const why = [...new Set(events.flatMap(({ fault }) => fault?.code ?? []))].map((code) => `\`${code}\``).join(", ");
  const counted = attemptsOf(ran) === events.length ? "" : `, counted as ${attemptsOf(ran)}`;
  const failed = events.length - done;
  const last = events.at(-1);
  const lengths = requests.map(({ messages }) => messages.length);
  return [
    what,
    `${done} done${failed === 0 ? "" : `, ${failed} failed (${why})`}${counted}`,
    `${result.status}, ${result.steps} steps`,
    last?.summary === undefined
      ? "the whole conversation, unchanged"
      : `at most ${Math.max(...lengths)} messages: \`${last.summary}\`${last.retained === undefined ? "" : `, ${last.retained.length} kept verbatim`}, the last steps`,
  ];
}

const rows = new Map<string, readonly string[]>();

describe("a summarizer that", verifies("CTX-3", "CTX-4"), () => {
  test.each(cases)("$what", async (one) => {
    const ran = await run(one.steps, one.summaries(), one.maxCompactions);
    one.hold(ran);
    for (const { messages } of ran.requests) {
      expect(messages.at(-1)?.role).not.toBe("assistant");
      expect(callsAndResults(messages)).toBe(true);
    }
    for (const { tools } of ran.asked) expect(tools).toEqual([]);
    rows.set(one.what, rowOf(one, ran));
  });

  afterAll(() => {
    const page = {
      file: "compaction.md",
      command: "node scripts/compaction-page.mjs",
      columns: ["A summarizer that", "Compactions", "The run", "What the model sees at the end"],
    };
    if (rows.size === cases.length)
      expectTable(
        page,
        "Good and bad summaries",
        cases.map(({ what }) => rows.get(what) ?? []),
      );
  });
});
