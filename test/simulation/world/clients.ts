/**
 * People: what they ask of processes, and what they are told.
 */
import type { PendingApproval, RunResult } from "../../../src/core/view/outcome.js";
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import { PawlError } from "../../../src/errors.js";
import type { ApprovalDecision } from "../../../src/index.js";
import type { Chance } from "../../../src/testing/world/chance.js";
import { type Process, retire, type World } from "../../../src/testing/world/world.js";

/** Something that was asked of a process. */
export type Question = {
  readonly id: number;
  readonly process: Process;
  readonly what: string;
  /** The input that it carried. */
  readonly input?: string;
  readonly runId?: string;
  answer: Answer | null;
};

export type Answer =
  | { readonly type: "result"; readonly result: RunResult }
  | { readonly type: "done"; readonly said: string }
  | { readonly type: "error"; readonly error: unknown };

/** One that reads along; what it saw. */
export type Reader = { readonly process: Process; readonly seen: PublicEvent[]; ended: boolean };

export type Clients = {
  readonly questions: Question[];
  readonly readers: Reader[];
  readonly run: (process: Process) => void;
  readonly send: (process: Process, mode: "queue" | "steer" | "reject") => void;
  readonly answer: (process: Process) => void;
  readonly abort: (process: Process) => void;
  readonly resume: (process: Process) => void;
  readonly read: (process: Process) => void;
  readonly shutDown: (process: Process) => void;
};

export function createClients(world: World): Clients {
  const { chance, number, sessionId } = world;
  const questions: Question[] = [];
  const readers: Reader[] = [];

  function ask(
    process: Process,
    what: string,
    act: () => Promise<RunResult | string>,
    more: Pick<Question, "input" | "runId"> = {},
  ): void {
    const question: Question = { id: number(), process, what, answer: null, ...more };
    questions.push(question);
    world.note({ type: "asked", process: process.name, id: question.id, what });
    const got = (answer: Answer) => {
      question.answer = answer;
      world.note({ type: "got", process: process.name, id: question.id, outcome: describe(answer) });
    };
    act().then(
      (said) => got(typeof said === "string" ? { type: "done", said } : { type: "result", result: said }),
      (error) => got({ type: "error", error }),
    );
  }

  /** Some send again what they sent before. */
  function request(): Request {
    const again = questions.flatMap(asSentAgain);
    const former = again.length > 0 && chance.happens(0.25) ? chance.pick(again) : undefined;
    const n = number();
    return former ?? { input: `input ${n}`, runId: `run${n}` };
  }

  return {
    questions,
    readers,
    run(process) {
      const { input, runId } = request();
      const named = chance.happens(0.5) || questions.some((one) => one.input === input);
      const options = named ? { sessionId, runId } : { sessionId };
      const streamed = chance.happens(0.3);
      const more = named ? { input, runId } : { input };
      ask(
        process,
        `run '${input}'`,
        async () =>
          streamed ? streamThrough(process.agent.runStream(input, options)) : process.agent.run(input, options),
        more,
      );
    },
    send(process, mode) {
      const { input, runId } = request();
      const act = async () => {
        const sent = await process.agent.session(sessionId).send(input, { mode, runId });
        return sent.isNew ? "new" : "known";
      };
      ask(process, `${mode} '${input}' ${runId}`, act, { input, runId });
    },
    answer(process) {
      const session = process.agent.session(sessionId);
      ask(process, "answer", async () => {
        const waiting = await session.pendingApprovals();
        if (waiting.length === 0) return "nothing waits";
        const one = chance.pick(waiting);
        if (one.why === "external") return await session.provideResult(one.callKey, `given ${number()}`);
        const decision = decisionOn(one, chance, number);
        const said = await session.answer(one.callKey, decision, { by: "somebody" });
        return `${decision.type} ${one.callKey}: ${said}`;
      });
    },
    abort: (process) =>
      ask(process, "abort", async () => {
        await process.agent.session(sessionId).abort();
        return "asked for";
      }),
    resume: (process) => ask(process, "resume", () => process.agent.session(sessionId).resume()),
    read: (process) => void readers.push(readAlong(process, sessionId)),
    shutDown: (process) =>
      ask(process, "shutdown", async () => {
        await process.agent.shutdown({ graceMs: 500 });
        retire(world, process);
        return "shut down";
      }),
  };
}

type Request = { readonly input: string; readonly runId: string };

/** Under the name that it was given, or that its result told. */
function asSentAgain({ input, runId, answer }: Question): readonly Request[] {
  const name = runId ?? (answer?.type === "result" ? answer.result.runId : undefined);
  return input === undefined || name === undefined ? [] : [{ input, runId: name }];
}

function decisionOn({ why }: PendingApproval, chance: Chance, number: () => number): ApprovalDecision {
  if (why === "recovery")
    return chance.pick<ApprovalDecision>([
      { type: "rerun" },
      { type: "result", output: "seen by a person" },
      { type: "fail" },
      { type: "deny" },
      { type: "approve" },
    ]);
  return chance.pick<ApprovalDecision>([
    { type: "approve" },
    { type: "approve" },
    { type: "deny", note: "no" },
    { type: "modify", input: { n: number() } },
    { type: "modify", input: { n: number() } },
    { type: "modify", input: { n: "no number" } },
    { type: "abort" },
  ]);
}

async function streamThrough(stream: ReturnType<Process["agent"]["runStream"]>): Promise<RunResult> {
  for await (const _ of stream);
  return await stream.result;
}

function readAlong(process: Process, sessionId: string): Reader {
  const items = process.agent.session(sessionId).events();
  const reader: Reader = { process, seen: [], ended: false };
  const follow = async () => {
    for await (const item of items) if ("seq" in item) reader.seen.push(item);
  };
  follow()
    .catch(() => {})
    .finally(() => {
      reader.ended = true;
    });
  return reader;
}

function describe(answer: Answer): string {
  switch (answer.type) {
    case "done":
      return answer.said;
    case "error":
      return answer.error instanceof PawlError ? `${answer.error.code}: ${answer.error.message}` : String(answer.error);
    case "result": {
      const { result } = answer;
      return `${result.runId} ${result.status}${"reason" in result ? ` ${result.reason}` : ""}`;
    }
  }
}
