/**
 * Runs the function of a tool step with its time limit and its retries.
 */
import type { Fault, Json } from "../../core/data/message.js";
import type { Timing } from "../../core/machine/event.js";
import type { Clock } from "../../ports/clock.js";
import type { StepContext, StepOptions, ToolRetry } from "../../ports/tool.js";
import { formatError } from "../lib/error-text.js";
import { retryDefaults, retryDelay } from "../lib/retry-delay.js";
import type { StepErrorCode } from "../tools/step-error.js";
import { normaliseJson } from "../tools/to-json.js";

/** The outcome of a step, before it is stored. */
export type StepBody = { readonly tries: number; readonly timing: Timing } & (
  | { readonly outcome: "ok"; readonly value: Json | undefined }
  | { readonly outcome: "error"; readonly fault: Fault }
);

type StepRun = {
  readonly idempotencyKey: string;
  readonly options: StepOptions;
  /** Aborted together with the call. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The last check before the function is called again. */
  readonly mayTryAgain: () => Promise<boolean>;
};

type Attempt =
  | { readonly type: "gave"; readonly value: unknown }
  | { readonly type: "threw"; readonly error: unknown }
  | { readonly type: "timed_out" };

export async function runStepBody(
  run: (context: StepContext) => unknown,
  { idempotencyKey, options, signal, clock, mayTryAgain }: StepRun,
): Promise<StepBody> {
  const startedAt = clock.now();
  for (let tries = 1; ; tries += 1) {
    const attempt = await tryOnce(run, { idempotencyKey, tries }, options.timeoutMs, signal, clock);
    const waitMs =
      attempt.type === "threw" ? findRetryDelay(options.retry, attempt.error, tries, idempotencyKey) : undefined;
    const shouldRetry = waitMs !== undefined && !signal.aborted && (await waitFor(waitMs, signal, clock));
    if (shouldRetry && (await mayTryAgain())) continue;
    const timing = { startedAt, durationMs: Math.max(0, clock.now() - startedAt) };
    return { tries, timing, ...toOutcome(attempt, options.timeoutMs) };
  }
}

function tryOnce(
  run: (context: StepContext) => unknown,
  { idempotencyKey, tries }: { readonly idempotencyKey: string; readonly tries: number },
  timeoutMs: number | undefined,
  signal: AbortSignal,
  clock: Clock,
): Promise<Attempt> {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  return new Promise((resolve) => {
    let stopTimer = () => {};
    const settle = (attempt: Attempt) => {
      stopTimer();
      signal.removeEventListener("abort", follow);
      resolve(attempt);
    };
    if (timeoutMs !== undefined)
      stopTimer = clock.after(timeoutMs, () => {
        controller.abort(new DOMException("The tool step took too long.", "TimeoutError"));
        settle({ type: "timed_out" });
      });
    // An async function, so that a synchronous throw is handled like a rejection.
    (async () => run({ idempotencyKey, tries, signal: controller.signal }))().then(
      (value) => settle({ type: "gave", value }),
      (error) => settle({ type: "threw", error }),
    );
  });
}

/** Undefined if the step is not retried. */
function findRetryDelay(retry: ToolRetry | undefined, error: unknown, tries: number, key: string): number | undefined {
  if (retry === undefined || tries >= (retry.attempts ?? retryDefaults.attempts)) return undefined;
  try {
    if (retry.when !== undefined && !retry.when(error)) return undefined;
  } catch {
    return undefined;
  }
  return retryDelay(retry.backoff, tries - 1, `${key}/${tries}`);
}

/** False if the call was aborted meanwhile. */
function waitFor(ms: number, signal: AbortSignal, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const stopTimer = clock.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve(true);
    });
    const onAbort = () => {
      stopTimer();
      resolve(false);
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

function toOutcome(attempt: Attempt, timeoutMs: number | undefined) {
  if (attempt.type === "timed_out")
    return failedStep("step_timeout", `it took more than ${timeoutMs} ms, and may still be running`);
  if (attempt.type === "threw") return toThrownOutcome(attempt.error);
  if (attempt.value === undefined) return { outcome: "ok", value: undefined } as const;
  try {
    return { outcome: "ok", value: normaliseJson(attempt.value) } as const;
  } catch (error) {
    return toThrownOutcome(error);
  }
}

function toThrownOutcome(error: unknown) {
  return failedStep("step_failed", formatNamedError(error), findErrorCode(error));
}

/** A failed step as the log stores it: `code` is the StepError's, `cause` is the thrown error's own code. */
export function failedStep(code: StepErrorCode, message: string, cause?: string) {
  const fault: Fault = { code, message, retryable: false, ...(cause === undefined ? {} : { cause }) };
  return { outcome: "error", fault } as const;
}

function formatNamedError(error: unknown): string {
  const text = formatError(error, maxMessageCharacters);
  try {
    const name = error instanceof Error ? String(error.name) : "";
    return name === "" || name === "Error" || name === text ? text : `${name.slice(0, 100)}: ${text}`;
  } catch {
    return text;
  }
}

function findErrorCode(error: unknown): string | undefined {
  try {
    const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
    return typeof code === "string" ? code.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}

const maxMessageCharacters = 2_000;
