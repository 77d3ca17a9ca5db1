/**
 * Has judges score a trial, and compares judges with people's labels on recorded answers.
 */
import { defined } from "../core/data/defined.js";
import { createMemoryStore } from "../stores/memory/index.js";
import type { EvalCase } from "./case.js";
import { type Judge, type JudgedTrial, readVerdict } from "./judges.js";
import { explainNoVerdict } from "./no-verdict.js";
import { toKey, toText } from "./read-record.js";
import type { Agreement, Score, TrialReport } from "./report.js";
import { runInTime } from "./time-limit.js";
import type { AskModel, Trial } from "./trial.js";

type NormalizedJudge = Required<Judge>;

/** How judges ask agents, and the time limit for a judge. */
export type JudgeDeps = {
  /** @param signal aborts the asked agent */
  readonly createAsk: (signal: AbortSignal) => AskModel;
  /** The time limit of each judge, in milliseconds. */
  readonly timeoutMs: number;
  /** Stops the judges. */
  readonly signal?: AbortSignal;
};

/** Reports truncate longer answers. The trial's log has the full text. */
const maxTextCharacters = 500;

export async function judgeTrial(
  trial: Trial,
  judges: readonly NormalizedJudge[],
  deps: JudgeDeps,
): Promise<Omit<TrialReport, "asked" | "kept">> {
  const { case: played, departure, isTimedOut, isSimulated, costUsd, reason } = trial;
  const judged = toJudged(trial);
  const scores: { [judge: string]: Score } = {};
  const noVerdict: { [judge: string]: string } = {};
  for (const judge of judges) {
    const verdict = await readScore(judged, judge, deps);
    if (verdict.score === null) continue;
    if (verdict.score === undefined) noVerdict[judge.name] = verdict.why;
    if (verdict.score === undefined && judge.atLeast === null) continue;
    scores[judge.name] = toScore({ ...verdict, score: verdict.score ?? 0 }, judge);
  }
  const passed = !isTimedOut && Object.values(scores).every((score) => score.passed !== false);
  return {
    case: played.name,
    variant: trial.variant,
    repetition: trial.repetition,
    scores,
    ...(Object.keys(noVerdict).length === 0 ? {} : { noVerdict }),
    passed,
    status: trial.status,
    ...defined({ reason: isTimedOut ? "the trial exceeded its time limit" : reason }),
    text: trial.text.slice(0, maxTextCharacters),
    ...(departure === null ? {} : { departure: formatDeparture(departure) }),
    steps: trial.steps,
    inputTokens: trial.inputTokens,
    outputTokens: trial.outputTokens,
    ...defined({ costUsd, recordedSessionId: played.from?.sessionId }),
    durationMs: Math.round(trial.durationMs * 10) / 10,
    ...(isSimulated ? { isSimulated } : {}),
  };
}

function toJudged(trial: Trial): JudgedTrial {
  const { expected } = trial.case;
  return { ...trial, output: trial.output ?? trial.text, expected: expected?.output ?? expected?.text };
}

function formatDeparture({ agent, tool, input, missing, nearest }: NonNullable<Trial["departure"]>): string {
  const call = `${agent === "" ? "" : `${agent}/`}${tool} ${toKey(input)}`;
  if (missing === "answer") return `the record has no answer to ${call}`;
  return `${call} is not in the record${nearest === undefined ? "" : `; the nearest recorded input is ${toKey(nearest)}`}`;
}

function toScore(
  { score, why }: { readonly score: number; readonly why?: string },
  { atLeast, must }: NormalizedJudge,
): Score {
  const passed = atLeast === null ? null : score >= atLeast;
  return {
    score,
    passed,
    ...(why === undefined || score === 1 ? {} : { why }),
    ...(must && passed === false ? { broken: true } : {}),
  };
}

/** Returns a null score if the judge does not apply, and no score if the judge gave no verdict. */
async function readScore(
  judged: JudgedTrial,
  judge: NormalizedJudge,
  deps: JudgeDeps,
): Promise<ReturnType<typeof readVerdict> | { readonly score?: undefined; readonly why: string }> {
  try {
    return await askJudge(judged, judge, deps);
  } catch (error) {
    return { why: explainNoVerdict(error) };
  }
}

async function askJudge(
  judged: JudgedTrial,
  { judge }: NormalizedJudge,
  { createAsk, timeoutMs, signal: stop }: JudgeDeps,
) {
  const verdict = await runInTime((signal) => judge(judged, { ask: createAsk(signal), signal }), timeoutMs, stop);
  return readVerdict(verdict);
}

/** The lowest score that counts as good, for a judge without a bound. */
const goodFrom = 0.5;

/** Compares a judge with the labels of recorded answers. */
export async function compareWithLabels(
  cases: readonly EvalCase[],
  judge: NormalizedJudge,
  deps: JudgeDeps,
): Promise<Agreement> {
  const agreement = { labels: 0, agreed: 0, tooStrict: 0, tooKind: 0, noVerdict: 0 };
  for (const one of cases) {
    if (one.label === undefined || one.expected === undefined) continue;
    const { score } = await readScore(toRecordedTrial(one), judge, deps);
    if (score === null) continue;
    if (score === undefined) {
      agreement.noVerdict += 1;
      continue;
    }
    const isGood = score >= (judge.atLeast ?? goodFrom);
    agreement.labels += 1;
    if (isGood === one.label.good) agreement.agreed += 1;
    else if (isGood) agreement.tooKind += 1;
    else agreement.tooStrict += 1;
  }
  return agreement;
}

/** Scores a recorded session. @throws whatever the judge throws, or Error if it takes too long */
export function scoreRecorded(one: EvalCase, judge: NormalizedJudge, deps: JudgeDeps) {
  return askJudge(toRecordedTrial(one), judge, deps);
}

/** Turns a recorded session into a trial. The judge sees neither the label nor that the answer is the recorded one. */
function toRecordedTrial(one: EvalCase): JudgedTrial {
  const { label: _, expected = {}, ...others } = one;
  const text = expected.text ?? "";
  return {
    case: others,
    variant: "",
    repetition: 1,
    input: toText(one.turns[0]?.input ?? []),
    output: expected.output ?? text,
    expected: undefined,
    status: expected.status ?? "completed",
    ...defined({ reason: expected.reason, costUsd: expected.costUsd }),
    text,
    calls: expected.calls ?? [],
    hooks: expected.hooks ?? [],
    steps: expected.steps ?? 0,
    inputTokens: expected.inputTokens ?? 0,
    outputTokens: expected.outputTokens ?? 0,
    departure: null,
    isTimedOut: false,
    isSimulated: false,
    results: { recorded: 0, simulated: 0, real: 0, unrecorded: 0 },
    comparedSteps: [],
    modelCalls: { asked: 0, kept: 0, isRefused: false },
    durationMs: 0,
    store: createMemoryStore(),
    sessionId: "",
  };
}
