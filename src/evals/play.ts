/**
 * Plays a case: the agent runs as in production, but its tool calls are answered from the record, its model calls from kept
 * answers, and its questions as people answered them at the time.
 *
 * 1. A trial has its own store in memory and no observers. An interrupted trial leaves only the paid answers.
 * 2. A trial ends at the first call or question that is not in the record, unless the eval says how to answer it.
 * 3. A trial ends within its time limit.
 */
import { defined } from "../core/data/defined.js";
import type { RunResult } from "../core/view/outcome.js";
import type { PendingApproval } from "../core/view/pending-approval.js";
import { PawlError } from "../errors.js";
import type { Model } from "../ports/model.js";
import type { UsageService } from "../ports/services.js";
import type { AnyTool, InputSchema } from "../ports/tool.js";
import type { ApprovalDecision } from "../runtime/agent/answer-types.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import type { Input } from "../runtime/agent/input-parts.js";
import { type RehearsedAgent, rehearse } from "../runtime/api/build-agent.js";
import { systemClock } from "../runtime/lib/clock.js";
import { createMemoryStore } from "../stores/memory/index.js";
import { createAsk } from "./ask.js";
import type { Ending, EvalCase, OutsideTool, Turn } from "./case.js";
import { type Budget, createAnswerKeeper, type KeptAnswers } from "./kept-answers.js";
import { readRecord, toText } from "./read-record.js";
import { createRecordedPeople, type Unanswered } from "./recorded-people.js";
import { createRecordedSteps } from "./recorded-steps.js";
import { createRecordedTools, type ToolAnswer, type Unrecorded } from "./recorded-tools.js";
import type { CallCounts, Departure, Trial } from "./trial.js";

export type PlayOptions = {
  readonly case: EvalCase;
  readonly agent: HandoffAgent;
  readonly variant: string;
  readonly repetition: number;
  /** The session of the trial. */
  readonly sessionId: string;
  readonly play: "run" | "steps";
  readonly tools: { readonly [tool: string]: ToolAnswer };
  readonly unrecorded: Unrecorded;
  readonly unanswered: Unanswered;
  readonly answers: KeptAnswers;
  readonly budget: Budget;
  readonly usage: UsageService;
  readonly modelName: (model: Model) => string;
  readonly timeoutMs: number;
  /** An output schema that replaces the recorded one. */
  readonly output?: InputSchema<unknown>;
  /** Stops the trial. */
  readonly signal?: AbortSignal;
};

export async function playCase(options: PlayOptions): Promise<Trial> {
  const { case: played, variant, repetition, sessionId, play, answers, budget, modelName, signal } = options;
  const startedAt = performance.now();
  const store = createMemoryStore();
  const modelCalls: CallCounts = { asked: 0, kept: 0, isRefused: false };
  let departure: Departure | null = null;
  let isTimedOut = false;
  let isSimulated = false;
  const ended = new AbortController();
  // Aborts through the session: the signal of `run` does not reach a run that `resume` continues after waiting for a person.
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    agent
      .session(sessionId)
      .abort({ note: "The trial has ended." })
      .catch(() => {});
  };
  const depart = (found: Departure, endsTrial: boolean) => {
    departure ??= found;
    if (endsTrial) end();
  };
  const keep = createAnswerKeeper({ answers, repetition, counts: modelCalls, budget, modelName });
  const ask = createAsk(keep, ended.signal);
  const tools = createRecordedTools({
    calls: played.calls ?? [],
    tools: options.tools,
    unrecorded: options.unrecorded,
    ask: (...question) => {
      isSimulated = true;
      return ask(...question);
    },
    onDeparture: depart,
  });
  const people = createRecordedPeople(played, options.unanswered, (found) => depart(found, true));
  const steps = createRecordedSteps(played, {
    sessionId,
    isStepwise: play === "steps",
    onEnd: end,
    deliver: (arrival) => deliver(agent, sessionId, arrival),
  });
  const agent = rehearse(options.agent, {
    store,
    runTool: tools.runTool,
    runModel({ agent: name, model, request }, own) {
      const stream = () => keep(model, request, own);
      return request.purpose === "compaction" ? stream() : steps.stream(name, request, stream);
    },
    toolsFor: (name) => (played.outsideTools ?? []).filter((tool) => tool.agent === name).map(toTool),
  });
  const cancelTimer = systemClock.after(options.timeoutMs, () => {
    isTimedOut = true;
    end();
  });
  signal?.addEventListener("abort", end, { once: true });
  try {
    if (signal?.aborted === true) end();
    for (const [index, turn] of played.turns.entries()) {
      // Before the first turn, there is no session to abort.
      if (ended.signal.aborted) break;
      const result = await runTurn(agent, people, played, {
        index,
        turn,
        sessionId,
        ...defined({ output: options.output }),
      });
      if (result.status !== "completed" || ended.signal.aborted) break;
    }
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", end);
    await agent.shutdown({ graceMs: 100 });
  }
  const { ending } = await readRecord(store, sessionId, options.usage, "all");
  return {
    ...(ending ?? unfinished),
    case: played,
    variant,
    repetition,
    input: toText(played.turns[0]?.input ?? []),
    departure,
    isTimedOut,
    isSimulated,
    results: tools.counts,
    comparedSteps: steps.compared,
    modelCalls,
    durationMs: performance.now() - startedAt,
    store,
    sessionId,
  };
}

/** The ending of a trial that was stopped before its first run ended. */
const unfinished: Ending = {
  status: "aborted",
  text: "",
  calls: [],
  hooks: [],
  steps: 0,
  inputTokens: 0,
  outputTokens: 0,
};

type People = ReturnType<typeof createRecordedPeople>;

type TurnOptions = {
  readonly index: number;
  readonly turn: Turn;
  readonly sessionId: string;
  readonly output?: InputSchema<unknown>;
};

async function runTurn(
  agent: RehearsedAgent,
  people: People,
  { history = [] }: EvalCase,
  { index, turn, sessionId, output = turn.output }: TurnOptions,
): Promise<RunResult> {
  const session = agent.session(sessionId);
  if (index > 0) for (const patch of turn.data ?? []) await session.setData(patch);
  const runOptions = {
    sessionId,
    runId: `${sessionId}.${index + 1}`,
    ...turn.options,
    ...(index === 0 && history.length > 0 ? { history } : {}),
    ...defined({ output }),
  };
  const run = (): Promise<RunResult> => agent.run(turn.input as Input, runOptions);
  let result = await run();
  while (result.status === "awaiting_human") {
    for (const approval of result.approvals) await answerApproval(agent, people, approval);
    result = await session.resume().catch((error) => {
      // The run has ended in the meantime. Starting it again returns its result.
      if (error instanceof PawlError && error.code === "run_finished") return run();
      throw error;
    });
  }
  return result;
}

/** Repeats the recorded answer. Without one, the trial has already ended. */
async function answerApproval(agent: RehearsedAgent, people: People, approval: PendingApproval): Promise<void> {
  const { sessionId, callKey, questionId, why } = approval;
  const session = agent.session(sessionId);
  if (why === "external") {
    const result = people.findResult(approval);
    if (result !== null) await session.provideResult(callKey, result.output, { isError: result.isError === true });
    return;
  }
  const decision: ApprovalDecision | null = people.decide(approval);
  if (decision !== null) await session.answer(callKey, decision, defined({ questionId }));
}

type Arrival = NonNullable<NonNullable<EvalCase["sessions"]>[number]["arrivals"]>[number];

/** Repeats what reached the session from outside during the run, at the same model call. */
async function deliver(agent: RehearsedAgent, sessionId: string, { steer, skip, data }: Arrival): Promise<void> {
  const session = agent.session(sessionId);
  if (data !== undefined) await session.setData(data);
  if (steer !== undefined) await session.steer(steer as Input, defined({ skip }));
}

/** A tool of a plugin or a server that is not started. Its calls are answered like those of any tool. */
function toTool({ specification, needsApproval }: OutsideTool): AnyTool {
  const { name, description, inputSchema } = specification;
  const execute = () => {
    throw new Error(
      `The tool "${name}" is only declared in the case and cannot run. Answer its calls with the option tools.`,
    );
  };
  return { name, description, input: inputSchema, needsApproval: needsApproval === true, execute };
}
