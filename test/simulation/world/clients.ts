/**
 * People: what they ask of processes, and what they are told.
 */
import type { Message } from "../../../src/core/data/message.js";
import type { PendingApproval, RunResult } from "../../../src/core/view/outcome.js";
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import { buildWorker } from "../../../src/engine/worker.js";
import type { WorkerOptions } from "../../../src/engine/worker-options.js";
import { PawlError } from "../../../src/errors.js";
import type { Holder } from "../../../src/ports/store.js";
import type { ApprovalDecision } from "../../../src/runtime/agent/answer-types.js";
import { createClient } from "../../../src/runtime/api/client.js";
import { pendingApprovals, type StoredApproval } from "../../../src/runtime/api/stored-approvals.js";
import { isKilled } from "../../../src/testing/world/processes.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import { createProcessStore } from "../../../src/testing/world/store.js";
import { createProcessClock, type Process, retireProcess, type World } from "../../../src/testing/world/world.js";
import type { Extras } from "./extras.js";
import { agentNameAt, twinNameAt } from "./family.js";
import { createTimedClients, type TimedClients } from "./timed.js";
import { continueWatch, startWatch, type Watch } from "./watches.js";

/** Something that was asked of a process. */
export type Question = {
  readonly id: number;
  readonly process: Process;
  readonly what: string;
  /** The input that it carried. */
  readonly input?: string;
  readonly runId?: string;
  /** The input is posted later, unless it is withdrawn. */
  readonly isLater?: true;
  answer: Reply | null;
};

export type Reply =
  | { readonly type: "result"; readonly result: RunResult }
  | { readonly type: "done"; readonly said: string }
  | { readonly type: "error"; readonly error: unknown };

/** One that reads along; what it saw. */
export type Reader = { readonly process: Process; readonly seen: PublicEvent[]; ended: boolean };

export type Clients = TimedClients & {
  readonly questions: Question[];
  readonly readers: Reader[];
  /** Those who watch the session together with the sessions below it. */
  readonly watches: Watch[];
  readonly run: (process: Process) => void;
  readonly send: (process: Process, mode: "queue" | "steer" | "interrupt" | "reject") => void;
  readonly answer: (process: Process) => void;
  readonly abort: (process: Process) => void;
  readonly compact: (process: Process) => void;
  /** By the process that may drive the session, or by one that only posts. */
  readonly rename: (process: Process, chance: SeededRandom) => void;
  /** Answers a question of any session, by the lists of the store, without an agent. */
  readonly answerBelow: (process: Process) => void;
  /** Aborts any session, without an agent. */
  readonly abortBelow: (process: Process) => void;
  /** Does a worker's job until no session is due. */
  readonly work: (process: Process) => void;
  readonly resume: (process: Process) => void;
  readonly read: (process: Process) => void;
  /** Begins to watch the session and those below it, or goes on behind a place that was told. */
  readonly watch: (process: Process, chance: SeededRandom) => void;
  readonly shutDown: (process: Process) => void;
};

/** @param sameHost whether a worker can see that another process is dead */
export function createClients(world: World, sameHost: boolean, extras: Extras): Clients {
  const { chance, nextNumber: number, sessionId } = world;
  const questions: Question[] = [];
  const readers: Reader[] = [];
  const watches: Watch[] = [];

  function ask(
    process: Process,
    what: string,
    perform: () => Promise<RunResult | string>,
    more: Pick<Question, "input" | "runId" | "isLater"> = {},
  ): void {
    const question: Question = { id: number(), process, what, answer: null, ...more };
    questions.push(question);
    world.record({ type: "asked", process: process.name, id: question.id, what });
    const recordReply = (answer: Reply) => {
      question.answer = answer;
      world.record({ type: "got", process: process.name, id: question.id, outcome: formatReply(answer) });
    };
    perform().then(
      (said) => recordReply(typeof said === "string" ? { type: "done", said } : { type: "result", result: said }),
      (error) => recordReply({ type: "error", error }),
    );
  }

  function createClientOf(process: Process) {
    const makeId = () => `client${number()}`;
    return createClient({
      store: createProcessStore(world, () => process),
      clock: createProcessClock(world, () => process, process.skewMs),
      makeId,
    });
  }

  /** A conversation from elsewhere. Only the first run of a session may bring one. */
  function drawHistory(): { readonly history?: readonly Message[] } {
    if (!extras.isSeeded || !extras.chance.happens(0.4)) return {};
    const n = number();
    return {
      history: [
        { role: "user", parts: [{ type: "text", text: `asked before ${n}` }] },
        { role: "assistant", parts: [{ type: "text", text: `said before ${n}` }] },
      ],
    };
  }

  /** A worker of this process. It has the agent of the first session alone, whose tools have the others. */
  async function runWorker(process: Process): Promise<string> {
    const refused: unknown[] = [];
    const options: WorkerOptions = {
      store: createProcessStore(world, () => process),
      agents: async ({ agent }) => (drivenByFirstAgent.has(agent) ? { ...process.agent, options: {} } : null),
      onReport: (report) => report.type === "refused" && refused.push(report.error),
    };
    const isDead = (other: Holder) => sameHost && isKilled(world, other);
    await buildWorker(options, {
      clock: createProcessClock(world, () => process, process.skewMs),
      isDead,
      random: () => 0,
    }).runUntilIdle();
    if (refused.length > 0) throw refused[0];
    return "nothing is due";
  }

  /** Some send again what they sent before. */
  function request(): RunRequest {
    const resendable = questions.flatMap(toResendable);
    const previousRequest = resendable.length > 0 && chance.happens(0.25) ? chance.pick(resendable) : undefined;
    const n = number();
    return previousRequest ?? { input: `input ${n}`, runId: `run${n}` };
  }

  return {
    ...createTimedClients(world, { ask, createClientOf, questions }),
    questions,
    readers,
    watches,
    run(process) {
      const { input, runId } = request();
      const named = chance.happens(0.5) || questions.some((one) => one.input === input);
      const history = drawHistory();
      const options = { sessionId, ...(named ? { runId } : {}), ...history };
      const streamed = chance.happens(0.3);
      const more = named ? { input, runId } : { input };
      ask(
        process,
        `run '${input}'${history.history === undefined ? "" : " with a history"}`,
        async () =>
          streamed ? drainStream(process.agent.runStream(input, options)) : process.agent.run(input, options),
        more,
      );
    },
    send(process, mode) {
      const { input, runId } = request();
      const skips = mode === "steer" && extras.skips && extras.chance.happens(0.5);
      const skip = skips ? ({ skip: "unstarted" } as const) : {};
      const perform = async () => {
        const sent = await process.agent.session(sessionId).send(input, { mode, runId, ...skip });
        return sent.isNew ? "new" : "known";
      };
      ask(process, `${mode} '${input}' ${runId}${skips ? ", skipping" : ""}`, perform, { input, runId });
    },
    answer(process) {
      const session = process.agent.session(sessionId);
      ask(process, "answer", async () => {
        const waiting = await session.pendingApprovals();
        if (waiting.length === 0) return "nothing waits";
        const one = chance.pick(waiting);
        if (one.why === "external") return await session.provideResult(one.callKey, `given ${number()}`);
        const decision = drawDecision(one, chance, number);
        const options = { by: "somebody", ...pickQuestionId(one) };
        const said = await answerOrRefusal(decision, () => session.answer(one.callKey, decision, options));
        return `${decision.type} ${one.callKey}: ${said}`;
      });
    },
    abort: (process) =>
      ask(process, "abort", async () => {
        await process.agent.session(sessionId).abort();
        return "asked for";
      }),
    compact: (process) => ask(process, "compact", async () => (await process.agent.session(sessionId).compact()).type),
    rename(process, own) {
      const title = `title ${number()}`;
      const renamed = own.happens(0.5) ? process.agent.session(sessionId) : createClientOf(process).session(sessionId);
      ask(process, "rename", async () => {
        await renamed.rename(title, { by: "somebody" });
        return title;
      });
    },
    answerBelow: (process) =>
      ask(process, "answer below", async () => {
        const waiting: StoredApproval[] = [];
        for await (const one of pendingApprovals(createProcessStore(world, () => process))) waiting.push(one);
        if (waiting.length === 0) return "nothing waits";
        const one = chance.pick(waiting);
        const session = createClientOf(process).session(one.sessionId);
        if (one.why === "external") return await session.provideResult(one.callKey, `given ${number()}`);
        const decision = drawDecision(one, chance, number);
        const options = { by: "somebody else", ...pickQuestionId(one) };
        const said = await answerOrRefusal(decision, () => session.answer(one.callKey, decision, options));
        return `${decision.type} ${one.callKey}: ${said}`;
      }),
    abortBelow: (process) =>
      ask(process, "abort below", async () => {
        const all = await createProcessStore(world, () => process).list();
        if (all.length === 0) return "nothing is there";
        const { sessionId: chosen } = chance.pick(all);
        await createClientOf(process).session(chosen).abort();
        return `asked for in ${chosen}`;
      }),
    work: (process) => ask(process, "work", () => runWorker(process)),
    resume: (process) => ask(process, "resume", () => process.agent.session(sessionId).resume()),
    read: (process) => void readers.push(startReader(process, sessionId)),
    watch(process, chance) {
      const [first, ...others] = watches;
      if (first === undefined || (watches.length < maxWatches && chance.happens(0.3)))
        return void watches.push(startWatch(process, sessionId));
      const watch = chance.pick([first, ...others]);
      const { length } = watch.seen;
      continueWatch(watch, process, sessionId, chance.happens(0.5) ? length : chance.below(length + 1));
    },
    shutDown: (process) =>
      ask(process, "shutdown", async () => {
        await process.agent.shutdown({ graceMs: 500 });
        retireProcess(world, process);
        return "shut down";
      }),
  };
}

const maxWatches = 3;

/** The agents whose sessions the first agent of a process drives. */
const drivenByFirstAgent: ReadonlySet<string> = new Set([agentNameAt(0), twinNameAt(0)]);

type RunRequest = { readonly input: string; readonly runId: string };

/** Under the name that it was given, or that its result told. */
function toResendable({ input, runId, answer, isLater }: Question): readonly RunRequest[] {
  const name = runId ?? (answer?.type === "result" ? answer.result.runId : undefined);
  return input === undefined || name === undefined || isLater === true ? [] : [{ input, runId: name }];
}

function pickQuestionId({ questionId }: Pick<PendingApproval, "questionId">): { readonly questionId?: string } {
  return questionId === undefined ? {} : { questionId };
}

function drawDecision(
  { why }: Pick<PendingApproval, "why">,
  chance: SeededRandom,
  number: () => number,
): ApprovalDecision {
  if (why === "tool")
    return chance.pick<ApprovalDecision>([
      { type: "reply", value: number() },
      { type: "reply", value: number() },
      { type: "reply", value: number() },
      misfitReply,
      { type: "decline", note: "not now" },
      { type: "decline" },
      { type: "abort" },
    ]);
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
    misfitEdit,
    { type: "abort" },
  ]);
}

/** An edit that no tool of this world takes. */
const misfitEdit: ApprovalDecision = { type: "modify", input: { n: "no number" } };

/** A reply that no question of this world takes. */
const misfitReply: ApprovalDecision = { type: "reply", value: "no number" };

/** An edit that does not fit is refused. Every other answer is taken. */
async function answerOrRefusal(decision: ApprovalDecision, answer: () => Promise<string>): Promise<string> {
  try {
    return await answer();
  } catch (error) {
    if (
      (decision === misfitEdit || decision === misfitReply) &&
      error instanceof PawlError &&
      error.code === "bad_input"
    )
      return "refused";
    throw error;
  }
}

async function drainStream(stream: ReturnType<Process["agent"]["runStream"]>): Promise<RunResult> {
  for await (const _ of stream);
  return await stream.result;
}

function startReader(process: Process, sessionId: string): Reader {
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

function formatReply(answer: Reply): string {
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
