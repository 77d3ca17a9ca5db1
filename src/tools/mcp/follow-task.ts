/**
 * Follows a task of a server until it is over.
 *
 * 1. The step that made the call has the task's id. After a crash, any process continues with the same task.
 * 2. A tool that runs again takes its steps in the order of the log. So each series of polls is a step: what ends it decides
 *    what the call does next. A poll changes nothing, so a step that was lost is repeated.
 * 3. A series stays in this process while the server wants short intervals, until a few minutes after the tool was called, or
 *    called again. Otherwise the call sleeps durably between two polls.
 */

import { setTimeout as wait } from "node:timers/promises";
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";
import { markAbandonable } from "../../ports/abandonable-step.js";
import type { StepContext, ToolContext } from "../../ports/tool.js";
import { collectAnswers, type InputResponses } from "./collect-answers.js";
import { askForLogin } from "./login/ask-for-login.js";
import { findLoginPage, type LoginPage } from "./login/remote-login.js";
import { checkInputRequests } from "./questions.js";
import { shortenUntrusted } from "./shorten-untrusted.js";
import { defaultIntervalMs, type EndedTask, type Task, type TaskMethods, type TaskState } from "./tasks.js";
import { maxKeptCharacters } from "./tool-output.js";

export type TaskCall<Result> = {
  /** The server as messages name it: `The MCP server "docs"`. */
  readonly peer: string;
  readonly tasks: TaskMethods<Result>;
  readonly answerTimeoutMs: number | undefined;
  /** When this process began to run the tool, by `performance.now()`. */
  readonly startedAt: number;
  readonly context: Pick<ToolContext, "step" | "ask" | "sleep" | "progress" | "signal">;
};

type Completed<Result> = { readonly type: "completed"; readonly result: Result };

/** How a series of polls ended. */
type Polled<Result> =
  /** The task is not over, and the next poll is not due soon. `failure`: why the last poll failed. */
  | { readonly type: "working"; readonly intervalMs: number; readonly failure?: string }
  | { readonly type: "asks"; readonly intervalMs: number; readonly requests: { readonly [key: string]: unknown } }
  /** The server refuses polls until a person has logged in on this page. */
  | ({ readonly type: "login" } & LoginPage)
  | Completed<Result>
  | EndedTask
  /** Its questions cannot be asked. */
  | { readonly type: "refused"; readonly reason: string }
  /** The server still asks what expired here, and was told so. */
  | { readonly type: "unanswered" };

/** The same as its step stores it. `large`: the result is too large to be stored twice, but the server can be asked for it again. */
type StoredPoll<Result> = Polled<Result> | { readonly type: "large" };

/** Where a series of polls begins. */
type Series = {
  readonly intervalMs: number;
  /** A durable sleep has just ended, so one poll is due at once. */
  readonly isDue: boolean;
  /** The keys of the questions that were answered. The server may repeat them for a while. */
  readonly answeredKeys: ReadonlySet<string>;
  /** The keys of the questions that expired and will not be answered. */
  readonly expiredKeys: ReadonlySet<string>;
};

/** Answers that the server has not confirmed yet, and the keys of their questions. */
type UnsentAnswers = { readonly keys: readonly string[]; readonly inputResponses: InputResponses };

/** Why answers were not taken, as their step stores it. Undefined if the server has confirmed them. */
type AnswerProblem =
  | { readonly type: "failed" | "refused"; readonly reason: string }
  | ({ readonly type: "login" } & LoginPage)
  | undefined;

/** From this interval on, no process waits for the next poll. */
const longIntervalMs = 30_000;
/** How long this process polls: half of the time that a call may take without a sleep. */
const maxPollingMs = 300_000;
const maxPauseMs = 3_600_000;
/** With the pauses and the answers below the limit of a call's steps. With the longest pauses, about two weeks. */
const maxSeries = 400;
/** How many series in a row may end with a failed poll, or with answers that could not be sent. */
const maxFailedSeries = 10;
/** How many polls in a row may repeat a question that expired. After a pause, the first one counts. */
const maxRepeats = 10;
/** How often answers are sent before the call sleeps. */
const maxUpdateAttempts = 5;
const cancelTimeoutMs = 3_000;
const maxFailureCharacters = 2_000;

/**
 * @param askedBefore the number of questions that the server asked before it created the task
 * @throws Error if the task has no result
 */
export async function followTask<Result>(call: TaskCall<Result>, task: Task, askedBefore: number): Promise<Result> {
  const { peer, tasks, context } = call;
  let outcome: Completed<Result> | EndedTask;
  try {
    outcome = await pollUntilOver(call, task, askedBefore);
  } catch (error) {
    await cancelTask(tasks, task, context);
    throw error;
  }
  if (outcome.type === "completed") return outcome.result;
  const message = `${peer} gave no result (${outcome.reason}).`;
  throw outcome.code === undefined ? new Error(message) : new PawlError(outcome.code, message);
}

/** Cancels a task whose result is no longer wanted. Never throws. */
async function cancelTask<Result>(
  tasks: TaskMethods<Result>,
  { taskId }: Task,
  context: TaskCall<Result>["context"],
): Promise<void> {
  // After the time limit, no further step of the call begins.
  if (isTimeout(context.signal)) return tasks.cancel(taskId, AbortSignal.timeout(cancelTimeoutMs)).catch(() => {});
  // The step begins only if this process still runs the call.
  const cancel = ({ signal }: { readonly signal: AbortSignal }) => tasks.cancel(taskId, signal);
  await context.step("cancel", cancel, { cleanup: true, timeoutMs: cancelTimeoutMs }).catch(() => {});
}

function isTimeout({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Error && reason.name === "TimeoutError";
}

/** Returns how the task ended. @throws Error if the task is given up */
async function pollUntilOver<Result>(
  call: TaskCall<Result>,
  task: Task,
  askedBefore: number,
): Promise<Completed<Result> | EndedTask> {
  const { peer, context } = call;
  const answeredKeys = new Set<string>();
  const expiredKeys = new Set<string>();
  let { intervalMs } = task;
  let isDue = false;
  let pauseCount = 0;
  let failedCount = 0;
  let unsent: UnsentAnswers | null = null;
  for (let series = 1; series <= maxSeries; series += 1) {
    let failure: string | undefined;
    if (unsent === null) {
      const polled = await pollInStep(call, task, `poll-${series}`, { intervalMs, isDue, answeredKeys, expiredKeys });
      if (polled.type === "completed" || polled.type === "ended") return polled;
      if (polled.type === "refused") throw new Error(polled.reason);
      if (polled.type === "unanswered") throw new Error(`${peer} waits for an answer to a question that has expired.`);
      if (polled.type === "login") {
        await askForLogin(peer, polled, `login-poll-${series}`, call);
        isDue = true;
        continue;
      }
      ({ intervalMs } = polled);
      if (polled.type === "working") ({ failure } = polled);
      else {
        const requests = Object.entries(polled.requests);
        const inputResponses = await collectAnswers(call, requests, askedBefore + answeredKeys.size);
        unsent = { keys: requests.map(([key]) => key), inputResponses };
      }
    }
    if (unsent !== null) {
      failure = await sendAnswers(call, task, `answer-${series}`, unsent);
      if (failure === undefined) {
        for (const key of unsent.keys) {
          answeredKeys.add(key);
          if (isCancelled(unsent.inputResponses[key])) expiredKeys.add(key);
        }
        unsent = null;
        failedCount = 0;
        isDue = false;
        continue;
      }
    }
    failedCount = failure === undefined ? 0 : failedCount + 1;
    if (failedCount === maxFailedSeries) {
      const what = unsent === null ? "polled for a task" : "sent the answers to its questions";
      throw new Error(`${peer} could not be ${what} (${failure}).`);
    }
    await context.sleep(`pause-${series}`, { ms: computePause(intervalMs, pauseCount) });
    pauseCount += 1;
    isDue = true;
  }
  throw new Error(`${peer} did not finish a task within ${maxSeries} series of polls.`);
}

/** Whether a response cancels its question, because no person will answer it. */
function isCancelled(response: unknown): boolean {
  return (Object(response) as { readonly action?: unknown }).action === "cancel";
}

/** Returns why the server could not be reached; undefined if it has the answers. @throws Error if it refuses them */
async function sendAnswers<Result>(
  call: TaskCall<Result>,
  { taskId }: Task,
  step: string,
  { inputResponses }: UnsentAnswers,
): Promise<string | undefined> {
  const { peer, tasks, context } = call;
  const send = async ({ signal, tries }: StepContext): Promise<AnswerProblem> => {
    try {
      await tasks.update(taskId, inputResponses, signal);
      return undefined;
    } catch (error) {
      const loginPage = findLoginPage(error);
      if (loginPage !== null) return { type: "login", ...loginPage };
      if (isFinal(error)) return { type: "refused", reason: formatFailure(error) };
      if (signal.aborted || tries < maxUpdateAttempts) throw error;
      return { type: "failed", reason: formatFailure(error) };
    }
  };
  const problem: AnswerProblem = await context.step(step, send, { retry: { attempts: maxUpdateAttempts } });
  if (problem?.type === "refused") throw new Error(`${peer} refused the answers to its questions (${problem.reason}).`);
  if (problem?.type !== "login") return problem?.reason;
  await askForLogin(peer, problem, `login-${step}`, call);
  return "it required a login";
}

async function pollInStep<Result>(
  call: TaskCall<Result>,
  task: Task,
  step: string,
  series: Series,
): Promise<Polled<Result>> {
  let large: Completed<Result> | undefined;
  const run = async ({ signal }: StepContext): Promise<unknown> => {
    const polled = await pollSeries(call, task, series, signal);
    if (polled.type !== "completed" || JSON.stringify(polled.result).length <= maxKeptCharacters) return polled;
    large = polled;
    return { type: "large" };
  };
  // Results are JSON.
  const polled = (await call.context.step(step, run, markAbandonable({}))) as StoredPoll<Result>;
  if (polled.type !== "large") return polled;
  return large ?? readAgain(call, task);
}

/** Pauses grow, so that the last one is about a twentieth of the time that the task has taken. */
function computePause(intervalMs: number, pauseCount: number): number {
  return Math.min(maxPauseMs, Math.max(intervalMs, longIntervalMs * 1.05 ** pauseCount));
}

/**
 * Gets a large result, which is not in the log, from the server a second time. The task is over, so its interval, which may
 * be too long for one process, no longer matters.
 */
async function readAgain<Result>(call: TaskCall<Result>, task: Task): Promise<Polled<Result>> {
  const series = {
    intervalMs: defaultIntervalMs,
    isDue: false,
    answeredKeys: new Set<string>(),
    expiredKeys: new Set<string>(),
  };
  const polled = await pollSeries(call, task, series, call.context.signal);
  if (polled.type === "completed") return polled;
  const reason = "the process died before it had stored the result, and the server no longer has it";
  return { type: "ended", reason };
}

/** Polls until the task is over, has a new question, or needs no further poll from this process. */
async function pollSeries<Result>(
  { peer, tasks, startedAt, context }: TaskCall<Result>,
  { taskId }: Task,
  { intervalMs: firstIntervalMs, isDue, answeredKeys, expiredKeys }: Series,
  signal: AbortSignal,
): Promise<Polled<Result>> {
  const until = startedAt + maxPollingMs;
  let intervalMs = firstIntervalMs;
  let failure: string | undefined;
  let failures = 0;
  let repeats = 0;
  let lastMessage: string | undefined;
  for (let polls = 0; ; polls += 1) {
    if (!isDue || polls > 0) {
      const waitMs = Math.min(longIntervalMs, intervalMs * 2 ** failures);
      const staysHere = !isDue && intervalMs < longIntervalMs && performance.now() + waitMs < until;
      if (!staysHere) return { type: "working", intervalMs, ...(failure === undefined ? {} : { failure }) };
      await wait(waitMs, undefined, { signal });
    }
    let state: TaskState<Result>;
    try {
      state = await tasks.get(taskId, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const loginPage = findLoginPage(error);
      if (loginPage !== null) return { type: "login", ...loginPage };
      failure = formatFailure(error);
      if (isFinal(error)) return { type: "ended", reason: failure };
      failures += 1;
      context.progress(`A poll of the task failed (${failure}). It is repeated.`);
      continue;
    }
    failure = undefined;
    failures = 0;
    intervalMs = state.intervalMs ?? intervalMs;
    if (state.message !== undefined && state.message !== lastMessage) context.progress(state.message);
    lastMessage = state.message;
    if (state.type === "completed") return { type: "completed", result: state.result };
    if (state.type === "ended") {
      const { type, reason, code } = state;
      return code === undefined ? { type, reason } : { type, reason, code };
    }
    if (state.type === "working") {
      repeats = 0;
      continue;
    }
    const keys = Object.keys(state.requests);
    const requests = Object.entries(state.requests).filter(([key]) => !answeredKeys.has(key));
    if (requests.length > 0) {
      const checked = checkInputRequests(peer, Object.fromEntries(requests));
      if ("refused" in checked) return { type: "refused", reason: checked.refused };
      return { type: "asks", intervalMs, requests: checked.requests };
    }
    repeats = keys.some((key) => expiredKeys.has(key)) ? repeats + 1 : 0;
    if (repeats >= (isDue ? 1 : maxRepeats)) return { type: "unanswered" };
  }
}

function formatFailure(error: unknown): string {
  return shortenUntrusted(getErrorMessage(error), maxFailureCharacters);
}

/** JSON-RPC "method not found" and "invalid params": the server does not know the task, and never will. */
const finalCodes: readonly unknown[] = [-32_601, -32_602];

function isFinal(error: unknown): boolean {
  return error instanceof Error && "code" in error && finalCodes.includes(error.code);
}
