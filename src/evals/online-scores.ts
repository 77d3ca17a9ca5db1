/**
 * Judges a sample of the ended sessions in production, across any number of workers.
 *
 * 1. Sessions are sampled by the hash of their id, so all processes choose the same sessions and need not store the choice.
 * 2. A judge asks its model in a run of a separate session (`toScoreSessionId`). The run's id is derived from the judged session, its last
 *    entry, the judge and the question. So each verdict is paid for once, whichever process asks, and the inspector shows it.
 * 3. A judge sees only its current question, although all verdicts about a session are in the same session.
 * 4. A session that cannot be judged is reported, retried at the next two queries, and then skipped. The other sessions are judged
 *    regardless. A judge without a verdict is reported once, and the other judges continue.
 * 5. Alerts compare consecutive blocks of scores. A sliding window would be tested again at each score, which alone would raise
 *    false alarms.
 */
import {
  aFunction,
  anArray,
  anyValue,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
  ratio,
  timeLimit,
} from "../check-options.js";
import { createUsageService } from "../context/usage.js";
import { defined } from "../core/data/defined.js";
import type { Message } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import { listPrices } from "../models/facts/prices.js";
import { sha256 } from "../platform/hash.js";
import type { Hook } from "../ports/hook.js";
import type { SessionSummary, Store } from "../ports/store.js";
import type { WorkerScores } from "../ports/worker-scores.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import type { Agent } from "../runtime/api/build-agent.js";
import { scorePrefix, toScoreSessionId } from "../runtime/api/delete-session.js";
import { readAnswer, runReadOnlyTool } from "./ask.js";
import { scoreRecorded } from "./judge-trial.js";
import { checkJudgeNames, type Judge, type JudgeFunction, normalizeJudge } from "./judges.js";
import { NoVerdictError } from "./no-verdict.js";
import { readRecord } from "./read-record.js";
import { compareScores, isWorse, type ScoreChange } from "./statistics.js";
import type { AskModel } from "./trial.js";

/** A judge of sessions in production. */
export type OnlineJudge = {
  /** Scores a session. There is no expected answer. */
  readonly judge: Judge | JudgeFunction;
  /** The share of sessions to score, from 0 to 1. */
  readonly sample: number;
  /** The names of the agents whose sessions are scored. Default: all. */
  readonly agents?: readonly string[];
  /** Called if a block of scores is worse than the previous block, beyond chance. Each worker compares only its own scores. */
  readonly alert?: (alert: ScoreAlert) => void;
  /** The number of scores in a block. Default: 200. */
  readonly window?: number;
};

/** A judge's score for a session. */
export type OnlineScore = {
  /** The judged session. */
  readonly sessionId: string;
  /** The session's last log entry when it was judged. */
  readonly seq: number;
  /** The name of the judge. */
  readonly judge: string;
  /** From 0 to 1. */
  readonly score: number;
  /** Why the score is not 1. */
  readonly why?: string;
};

/** Reports that scores have become worse. */
export type ScoreAlert = {
  /** The name of the judge. */
  readonly judge: string;
  /** The change of the mean from one block to the next. */
  readonly change: ScoreChange;
  /** The lowest scores of the current block. */
  readonly worst: readonly OnlineScore[];
};

/** Options of `createScores`. */
export type ScoresOptions = {
  /** Sessions whose last change is older are not scored, in epoch milliseconds. Default: the current time. */
  readonly since?: number;
  /** The minimum time between two queries for ended sessions, in milliseconds. Default: 10,000. */
  readonly everyMs?: number;
  /** The time limit for each verdict of a judge, in milliseconds. Default: 10 minutes. */
  readonly judgeTimeoutMs?: number;
  /** Called with each score. */
  readonly onScore?: (score: OnlineScore) => void;
};

const judgeRules: OptionTable<OnlineJudge> = {
  judge: anyValue,
  sample: ratio,
  agents: anArray,
  alert: aFunction,
  window: integerFrom(2),
};

const optionRules: OptionTable<ScoresOptions> = {
  since: numberFrom(0),
  everyMs: numberFrom(0),
  judgeTimeoutMs: timeLimit,
  onScore: aFunction,
};

const pageSize = 50;
/** How many scored sessions a process remembers, to avoid reading them again. */
const maxRemembered = 10_000;
const worstShown = 5;
/** How many times a process tries to judge a session. */
const maxAttempts = 3;

/**
 * Creates the scores for the option `scores` of `createWorker`.
 *
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { createWorker } from "pawl";
 * import { createScores, rubric } from "pawl/evals";
 *
 * const judgeAgent = agent.with({ name: "judge", model: small, tools: [] });
 * const honest = rubric({ name: "honest", agent: judgeAgent, rubric: "Score 1 if the answer says what the calls did, else 0." });
 * const scores = createScores([{ judge: honest, sample: 0.05, alert: ({ judge, change }) => console.warn(judge, change) }]);
 * const worker = createWorker({ store, agents: [agent], scores });
 * ```
 */
export function createScores(judges: readonly OnlineJudge[], options: ScoresOptions = {}): WorkerScores {
  checkOptions("createScores()", optionRules, options);
  const { everyMs = 10_000, judgeTimeoutMs = 600_000, onScore } = options;
  const online = judges.map((given, index) => {
    checkOptions(`createScores(): judge ${index + 1}`, judgeRules, given);
    const { sample, agents, alert, window = defaultWindow } = given;
    const judge = normalizeJudge(given.judge, index);
    return { judge, sample, agents, blocks: createBlocks(judge.name, judges.length, window, alert) };
  });
  checkJudgeNames(online.map(({ judge }) => judge.name));
  const seen = new Set<string>();
  /** The sessions that need another attempt, by session and last entry. */
  const attempts = new Map<string, Attempts>();
  let since = options.since ?? Date.now();
  let lastQueryAt = Number.NEGATIVE_INFINITY;

  async function scoreSession(
    store: Store,
    session: SessionSummary,
    judged: Set<string>,
    { signal: stop, onFailure }: CatchUpOptions,
  ): Promise<void> {
    const { sessionId, seq, info } = session;
    const chosen = online.filter(
      ({ judge, sample, agents }) =>
        !judged.has(judge.name) &&
        isSampled(sessionId, sample) &&
        (agents === undefined || agents.includes(info?.agent ?? "")),
    );
    if (chosen.length === 0) return;
    const { turns, ending } = await readRecord(store, sessionId, createUsageService(listPrices), "all");
    if (ending === undefined) return;
    for (const { judge, blocks } of chosen) {
      const about = `${sessionId}/${seq}/${judge.name}`;
      const { score, why } = await scoreRecorded({ v: 1, name: sessionId, turns, expected: ending }, judge, {
        createAsk: (signal) => createAskInStore(store, about, toScoreSessionId(sessionId), signal),
        timeoutMs: judgeTimeoutMs,
        signal: stop,
      }).catch((error: unknown) => {
        // The judging agent's run has ended, so another attempt would read the same ending.
        if (!(error instanceof NoVerdictError)) throw error;
        if (!stop.aborted) onFailure?.(sessionId, new Error(`${judge.name}: no verdict: ${error.message}`));
        return { score: null, why: undefined };
      });
      if (stop.aborted) return;
      judged.add(judge.name);
      if (score === null) continue;
      const made: OnlineScore = { sessionId, seq, judge: judge.name, score, ...defined({ why }) };
      onScore?.(made);
      blocks.add(made);
    }
  }

  /** @returns true if the session needs no further attempt in this process */
  async function tryToScore(store: Store, session: SessionSummary, options: CatchUpOptions) {
    const { signal, onFailure } = options;
    const key = toKey(session);
    const attempt = attempts.get(key) ?? { failed: 0, judged: new Set<string>() };
    attempts.set(key, attempt);
    try {
      await scoreSession(store, session, attempt.judged, options);
      if (signal.aborted) return false;
    } catch (error) {
      if (signal.aborted) return false;
      onFailure?.(session.sessionId, error);
      attempt.failed += 1;
      if (attempt.failed < maxAttempts) return false;
    }
    attempts.delete(key);
    remember(seen, key);
    return true;
  }

  async function catchUp(store: Store, options: CatchUpOptions): Promise<void> {
    const { signal, isForced } = options;
    if (!isForced && performance.now() - lastQueryAt < everyMs) return;
    lastQueryAt = performance.now();
    const ended = await findEnded(store, since);
    const keys = new Set(ended.map(toKey));
    for (const key of attempts.keys()) if (!keys.has(key)) attempts.delete(key);
    let hasPending = false;
    // Oldest first: after an interruption, the next query continues from here.
    for (const session of ended.reverse()) {
      if (signal.aborted) return;
      if (!seen.has(toKey(session)) && !(await tryToScore(store, session, options))) hasPending = true;
      // The next query begins at the oldest session that needs another attempt.
      if (!hasPending) since = session.updatedAt;
    }
  }

  return { catchUp };
}

type Attempts = {
  failed: number;
  /** The judges that have already judged the session, so that no score is reported twice. */
  readonly judged: Set<string>;
};

type CatchUpOptions = Parameters<WorkerScores["catchUp"]>[1];

const toKey = ({ sessionId, seq }: SessionSummary) => `${sessionId}/${seq}`;

const defaultWindow = 200;

function remember(seen: Set<string>, key: string): void {
  seen.add(key);
  if (seen.size <= maxRemembered) return;
  const [oldest] = seen;
  if (oldest !== undefined) seen.delete(oldest);
}

/** Top-level sessions that have ended since that time, newest first, except those that contain verdicts. */
async function findEnded(store: Store, since: number): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  let after: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  for (;;) {
    const page = await store.list({
      status: ["completed", "failed"],
      parent: null,
      limit: pageSize,
      ...defined({ after }),
    });
    for (const session of page)
      if (session.updatedAt >= since && !session.sessionId.startsWith(scorePrefix)) found.push(session);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize || last.updatedAt < since) return found;
    after = { updatedAt: last.updatedAt, sessionId: last.sessionId };
  }
}

/** Compares the first 32 bits of the hash with the share. */
function isSampled(sessionId: string, sample: number): boolean {
  return Number.parseInt(sha256(sessionId).slice(0, 8), 16) < sample * 2 ** 32;
}

/**
 * Asks each question in a run of the judging agent. A question that already has an answer is not asked again.
 *
 * @param signal interrupts the run, which the next query continues
 */
function createAskInStore(store: Store, about: string, sessionId: string, signal: AbortSignal): AskModel {
  let count = 0;
  return async (agent, input, schema) => {
    count += 1;
    if (signal.aborted) throw signal.reason;
    const judging = rebuild(agent, store);
    const stop = () => void judging.shutdown({ graceMs: 0 }).catch(() => {});
    signal.addEventListener("abort", stop, { once: true });
    try {
      const runId = sha256(`${about}/${count}`).slice(0, 40);
      const runOptions = { sessionId, runId, interactive: false, ...defined({ output: schema }) };
      return readAnswer(await judging.run(input, runOptions), schema);
    } finally {
      signal.removeEventListener("abort", stop);
      await judging.shutdown({ graceMs: 1_000 });
    }
  };
}

function rebuild(agent: HandoffAgent, store: Store): Agent {
  const judging = agent as Partial<Agent>;
  if (judging.with === undefined || judging.options === undefined)
    throw new PawlError("bad_configuration", "The agent of a judge must be made by createAgent().");
  return judging.with({ store, runTool: runReadOnlyTool, hooks: [...(judging.options.hooks ?? []), keepLastQuestion] });
}

/** Earlier verdicts would bias the judge. */
const keepLastQuestion: Hook = {
  name: "only the last question",
  beforeLLMCall({ messages }: { readonly messages: readonly Message[] }) {
    const from = messages.findLastIndex(({ role }) => role === "user");
    return from <= 0 ? undefined : { messages: messages.slice(from) };
  },
};

/** Compares each block of scores with the previous one. */
function createBlocks(judge: string, judges: number, window: number, alert: OnlineJudge["alert"]) {
  let before: readonly OnlineScore[] = [];
  let current: OnlineScore[] = [];
  return {
    add(score: OnlineScore): void {
      if (alert === undefined) return;
      current.push(score);
      if (current.length < window) return;
      const change = compareScores(
        before.map((one, index) => ({ before: one.score, now: current[index]?.score ?? 0 })),
      );
      const worst = [...current].sort((one, other) => one.score - other.score).slice(0, worstShown);
      if (before.length === window && isWorse(change, judges)) alert({ judge, change, worst });
      before = current;
      current = [];
    },
  };
}
