/**
 * Tool steps and questions, with a crash before and after every commit: no recorded step runs again, and each play ends
 * as the one without a crash does.
 */
import { expect, test } from "vitest";
import type { Entry } from "../../src/core/index.js";
import { type AnyTool, createAgent, type Json, type StepError, type ToolContext } from "../../src/index.js";
import { type CrashPlay, crashTest, createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

/** What the tools of all lives of a play have done, outside of the agent. */
type Ran = { readonly step: string; readonly attempt: number };
type Work = (context: ToolContext, act: (step: string) => number) => Promise<unknown>;

/** What a tool did before it asked: no step that was recorded in an earlier attempt ran in a later one. */
function checkRuns(log: readonly Entry[], ran: readonly Ran[], at: string): void {
  const recorded = new Map<string, number>();
  for (const { event } of log)
    if (event.type === "tool_step_finished") {
      expect(recorded.has(event.step), `${event.step} is recorded twice, ${at}`).toBe(false);
      recorded.set(event.step, event.attempt);
    }
  for (const { step, attempt } of ran)
    expect(attempt <= (recorded.get(step) ?? Number.POSITIVE_INFINITY), `${step} ran again, ${at}`).toBe(true);
}

function outputIn(log: readonly Entry[]): Json | undefined {
  const finished = log.map(({ event }) => event).find((event) => event.type === "tool_finished");
  const output = finished?.output;
  return output?.type === "text" ? output.text : output?.type === "json" ? output.value : undefined;
}

type Options = {
  readonly output: (output: Json | undefined) => void;
  readonly pairs?: boolean;
  readonly check?: (play: CrashPlay, ran: readonly Ran[]) => void;
  readonly tool?: Partial<AnyTool>;
};

async function sweep(work: Work, { output, pairs = true, check, tool = {} }: Options) {
  const ran: Ran[] = [];
  const execute = (_input: unknown, context: ToolContext) =>
    work(context, (step) => {
      ran.push({ step, attempt: context.attempt });
      return ran.length;
    });
  return crashTest({
    agent: () =>
      createAgent({
        model: createScriptedModel(({ messages }) =>
          messages.some(({ role }) => role === "tool") ? { text: "Done." } : { calls: [{ name: "work" }] },
        ),
        tools: [
          {
            name: "work",
            description: "Works.",
            input: { type: "object" },
            durable: true,
            execute,
            ...tool,
          } as AnyTool,
        ],
      }),
    input: "Go",
    pairs,
    reset: () => void ran.splice(0),
    respond: ({ why, questionId }) =>
      why === "tool" ? { type: "reply", value: `answer to ${questionId}` } : { type: "fail" },
    check(play) {
      const at = `with crashes at ${play.at.join(", ")}`;
      expect(play.result.status, at).toBe("completed");
      checkRuns(play.log, ran, at);
      output(outputIn(play.log));
      check?.(play, ran);
    },
  });
}

const proven = verifies("TOOL-12", "REC-1");
const askProven = verifies("TOOL-13#ask", "REC-1");

test("steps in a sequence", proven, async () => {
  const report = await sweep(
    async ({ step }, act) => {
      const given: string[] = [];
      for (const name of ["one", "two", "three"]) {
        await step(name, () => act(name));
        given.push(name);
      }
      return given.join(" ");
    },
    { output: (output) => expect(output).toBe("one two three") },
  );
  console.log("sequence", report);
  expect(report.crashes).toBeGreaterThan(100);
});

test("steps in a loop", proven, async () => {
  const report = await sweep(
    async ({ step }, act) => {
      let sum = 0;
      for (let page = 1; page <= 3; page += 1)
        sum += await step("page", () => {
          act(page === 1 ? "page" : `page#${page}`);
          return page;
        });
      return `sum ${sum}`;
    },
    { output: (output) => expect(output).toBe("sum 6") },
  );
  console.log("loop", report);
});

test("steps side by side, each branch with more than one", proven, async () => {
  const report = await sweep(
    async ({ step }, act) => {
      const branch = async (name: string) => {
        const first = await step(`${name} 1`, () => {
          act(`${name} 1`);
          return `${name}-1`;
        });
        const second = await step(`${name} 2`, () => {
          act(`${name} 2`);
          return `${first}-2`;
        });
        return second;
      };
      return (await Promise.all([branch("a"), branch("b"), branch("c")])).join(" ");
    },
    { output: (output) => expect(output).toBe("a-1-2 b-1-2 c-1-2") },
  );
  console.log("branches", report);
});

test("a step that may run once, and an error in a catch", proven, async () => {
  let inDoubt = 0;
  const report = await sweep(
    async ({ step }, act) => {
      let charged: string;
      try {
        await step("check", () => {
          act("check");
          throw Object.assign(new Error("not now"), { code: "later" });
        });
        charged = "checked";
      } catch (error) {
        charged = (error as StepError).reason ?? "";
      }
      try {
        await step("charge", () => act("charge"), { once: true });
      } catch (error) {
        return `${charged} ${(error as StepError).code}`;
      }
      return `${charged} charged`;
    },
    {
      output: (output) => expect(["later charged", "later step_in_doubt"]).toContain(output),
      check({ log, at }, ran) {
        expect(ran.filter(({ step }) => step === "charge").length, String(at)).toBeLessThanOrEqual(1);
        if (outputIn(log) === "later step_in_doubt") inDoubt += 1;
      },
    },
  );
  console.log("once", report, { inDoubt });
  expect(inDoubt).toBeGreaterThan(0);
});

test("a question between two steps", askProven, async () => {
  const report = await sweep(
    async ({ step, ask }, act) => {
      await step("before", () => act("before"));
      const said = await ask({ message: "Which?", name: "which" });
      await step("after", () => act("after"));
      return JSON.stringify(said);
    },
    { output: (output) => expect(output).toBe('{"type":"answered","value":"answer to which"}') },
  );
  console.log("question", report);
});

test("two questions beside a step", askProven, async () => {
  const report = await sweep(
    async ({ step, ask }, act) => {
      const said = await Promise.all([
        ask({ message: "One?", name: "one" }),
        step("beside", () => {
          act("beside");
          return "done";
        }),
        ask({ message: "Two?", name: "two" }),
      ]);
      return said;
    },
    {
      pairs: false,
      output: (output) =>
        expect(output).toEqual([
          { type: "answered", value: "answer to one" },
          "done",
          { type: "answered", value: "answer to two" },
        ]),
    },
  );
  console.log("questions", report);
});
