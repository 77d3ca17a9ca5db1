/**
 * Plays the recorded answers of models in a trial.
 *
 * 1. Up to `at`, the recorded answers are used and no model is asked.
 * 2. With `play: "steps"`, the model is asked at each step, but the loop gets the recorded answer. So every step follows from the
 *    recorded answers.
 * 3. Sessions of a trial are matched with recorded sessions by agent and first request.
 * 4. A retry of a model call belongs to the same step.
 */
import type { Json } from "../core/data/message.js";
import type { DeltaBody, ModelDelta, ModelRequest } from "../ports/model.js";
import type { EvalCase, RecordedArrival, RecordedSession } from "./case.js";
import { toText } from "./read-record.js";
import type { ComparedStep, ModelAnswer } from "./trial.js";

type StepsOptions = {
  /** The session of the trial. */
  readonly sessionId: string;
  readonly isStepwise: boolean;
  /** Called when the record has no more steps. */
  readonly onEnd: () => void;
  readonly deliver: (arrival: RecordedArrival) => Promise<void>;
};

/** The progress of a session of the trial. */
type Progress = {
  readonly recorded: RecordedSession | undefined;
  step: number;
  /** The model call that this step belongs to. */
  call: string;
  /** The model call that was compared last. */
  comparedCall: string;
};

export function createRecordedSteps(
  { sessions: recorded = [], at = 0 }: EvalCase,
  { sessionId: topId, isStepwise, onEnd, deliver }: StepsOptions,
) {
  const progress = new Map<string, Progress>();
  const children = recorded.slice(1);
  const compared: ComparedStep[] = [];

  function findProgress(agent: string, { sessionId, messages }: ModelRequest): Progress {
    const known = progress.get(sessionId);
    if (known !== undefined) return known;
    const first = messages.find(({ role }) => role === "user");
    const text = first?.role === "user" ? toText([first]) : "";
    const index = children.findIndex((one) => one.agent === agent && one.request === text);
    const recordedSession = sessionId === topId ? recorded[0] : index < 0 ? undefined : children.splice(index, 1)[0];
    const begun: Progress = { recorded: recordedSession, step: 0, call: "", comparedCall: "" };
    progress.set(sessionId, begun);
    return begun;
  }

  async function* stream(
    agent: string,
    request: ModelRequest,
    ask: () => AsyncIterable<ModelDelta>,
  ): AsyncGenerator<ModelDelta, void, undefined> {
    const own = findProgress(agent, request);
    const call = `${request.runId}/${request.modelCallIndex}`;
    const isNext = own.call !== call;
    if (isNext) {
      own.call = call;
      own.step += 1;
    }
    const { step } = own;
    if (isNext && request.sessionId === topId)
      for (const arrival of own.recorded?.arrivals ?? []) if (arrival.step === step) await deliver(arrival);
    const answer = own.recorded?.steps[step - 1];
    // Child sessions count as before `at` as long as the top session does.
    const isBefore = (progress.get(topId)?.step ?? 0) <= at;
    if (isBefore && answer !== undefined) {
      yield* answer;
      return;
    }
    if (!isStepwise) {
      yield* ask();
      return;
    }
    const now: ModelDelta[] = [];
    for await (const delta of ask()) now.push(delta);
    if (now.at(-1)?.kind === "error" || answer === undefined) {
      if (answer === undefined) onEnd();
      yield* now;
      return;
    }
    // Compared once for each call, whichever attempt got the answer.
    if (own.comparedCall !== call)
      compared.push({ agent, step, recorded: toModelAnswer(answer), now: toModelAnswer(now) });
    own.comparedCall = call;
    yield* answer;
  }

  return { stream, compared };
}

function toModelAnswer(deltas: readonly DeltaBody[]): ModelAnswer {
  const calls: { readonly tool: string; readonly input: Json }[] = [];
  let text = "";
  for (const delta of deltas) {
    if (delta.kind === "text-delta") text += delta.text;
    if (delta.kind === "tool-call") calls.push({ tool: delta.name, input: parseInput(delta.input) });
  }
  return { calls, text };
}

function parseInput(text: string): Json {
  try {
    return JSON.parse(text === "" ? "{}" : text) as Json;
  } catch {
    return text;
  }
}
