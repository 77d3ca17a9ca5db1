/**
 * Calls hooks, whatever they do.
 *
 * 1. They are called one after the other; where all answer at once, so does this.
 * 2. One that throws, or takes too long, or returns what it may not, has no effect but what its `onFailure` says.
 * 3. What a hook does after it was cut off counts for nothing.
 */
import type { HookPoint, HookRecord } from "../../core/event.js";
import type { HookContext } from "../../ports/hook.js";
import { type Cancellation, createCancellation } from "../cancellation.js";
import { textOfError } from "../error-text.js";
import { freeze } from "../freeze.js";
import { depsOf } from "../run-locals.js";
import { andThen, isThenable } from "../thenable.js";
import type { Work } from "../work.js";
import type { CompiledHook } from "./compile.js";

/** What an answer makes of what was so far. */
export type Taken<So> =
  | { readonly type: "changed"; readonly to: So }
  /** It settles the matter: the hooks after it are not asked. */
  | { readonly type: "settled"; readonly to: So }
  | { readonly type: "refused"; readonly message: string };

export type Asking<So> = {
  readonly point: HookPoint;
  /** What there is before the first hook is asked. */
  readonly first: So;
  /** What a hook gets to see of it. */
  readonly show: (so: So) => object;
  readonly take: (answer: unknown, so: So) => Taken<So>;
};

export type Asked<So> = {
  readonly to: So;
  readonly records: readonly HookRecord[];
  /** Why nothing may go on as if there were no hooks: one failed whose `onFailure` is closed. */
  readonly failure?: string;
};

/** Asks the hooks of a point. Without a `cancellation` only their own time cuts them off. */
export function askHooks<So>(
  { point, first, show, take }: Asking<So>,
  work: Work,
  cancellation?: Cancellation,
): Asked<So> | Promise<Asked<So>> {
  const { hooks, clock } = work.parts;
  const records: HookRecord[] = [];

  function askFrom(index: number, so: So): Asked<So> | Promise<Asked<So>> {
    const hook = hooks[point][index];
    if (hook === undefined) return { to: so, records };
    const startedAt = clock.elapsed();
    return andThen(call(hook, freeze(show(so)), work, cancellation), (answer) => {
      const judged = judge(answer, so, take);
      const ms = Math.max(0, Math.round((clock.elapsed() - startedAt) * 1_000) / 1_000);
      const { outcome, message } = judged;
      records.push({ name: hook.name, hook: point, ms, outcome, ...(message === undefined ? {} : { message }) });
      if (message !== undefined && hook.isClosed)
        return { to: so, records, failure: `the hook "${hook.name}" failed at ${point}: ${message}` };
      return judged.isSettled ? { to: judged.to, records } : askFrom(index + 1, judged.to);
    });
  }
  return askFrom(0, first);
}

/** For hooks that return nothing. */
export function refuseAll(answer: unknown): Taken<never> {
  return refused(answer, "nothing");
}

export function refused(answer: unknown, allowed: string): Taken<never> {
  const kind = Array.isArray(answer) ? "an array" : answer === null ? "null" : typeof answer;
  const keys = kind === "object" ? Object.keys(answer as object) : [];
  const what = kind === "object" ? `an object with ${keys.slice(0, 10).join(", ") || "no keys"}` : `a value (${kind})`;
  return { type: "refused", message: `It returned ${what.slice(0, 300)}; it may return ${allowed}.` };
}

type Judged<So> = Pick<HookRecord, "outcome" | "message"> & { readonly to: So; readonly isSettled: boolean };

function judge<So>(answer: Answer, so: So, take: Asking<So>["take"]): Judged<So> {
  if (answer.type !== "returned") return { outcome: answer.type, message: answer.message, to: so, isSettled: false };
  if (answer.value === undefined) return { outcome: "ok", to: so, isSettled: false };
  let taken: Taken<So>;
  try {
    taken = take(answer.value, so);
  } catch (error) {
    taken = { type: "refused", message: `What it returned cannot be used: ${inShort(textOfError(error))}` };
  }
  if (taken.type === "refused") return { outcome: "refused", message: taken.message, to: so, isSettled: false };
  return { outcome: "changed", to: taken.to, isSettled: taken.type === "settled" };
}

function call(
  hook: CompiledHook,
  subject: object,
  work: Work,
  cancellation: Cancellation | undefined,
): Answer | Promise<Answer> {
  const own = createCancellation();
  return settleInTime(() => hook.call(subject, contextOf(work, own)), {
    timeoutMs: hook.timeoutMs,
    clock: work.parts.clock,
    onOver: own.cancel,
    ...(cancellation === undefined ? {} : { cancellation }),
  });
}

function contextOf({ sessionId, parts, transcript }: Work, own: Cancellation): HookContext {
  const runId = transcript.run?.runId ?? "";
  return Object.freeze({
    sessionId,
    runId,
    deps: depsOf(parts, runId),
    get signal() {
      return own.signal;
    },
  });
}

/** What came of calling somebody's code. */
export type Answer =
  | { readonly type: "returned"; readonly value: unknown }
  | { readonly type: "threw" | "timed_out"; readonly message: string };

type InTime = {
  readonly timeoutMs: number;
  readonly clock: Work["parts"]["clock"];
  readonly cancellation?: Cancellation;
  /** Called where it is not waited for any more. */
  readonly onOver?: () => void;
};

/** Calls somebody's code, and waits for what it promises no longer than it may take. */
export function settleInTime(act: () => unknown, inTime: InTime): Answer | Promise<Answer> {
  try {
    const value = act();
    return isThenable(value) ? waitInTime(value, inTime) : { type: "returned", value };
  } catch (error) {
    return { type: "threw", message: inShort(textOfError(error)) };
  }
}

function waitInTime(
  promised: PromiseLike<unknown>,
  { timeoutMs, clock, cancellation, onOver }: InTime,
): Promise<Answer> {
  return new Promise((resolve) => {
    let stop = () => {};
    const settle = (answer: Answer) => {
      stop();
      cancellation?.onCancel(() => {});
      resolve(answer);
    };
    const giveUp = (message: string) => {
      settle({ type: "timed_out", message });
      onOver?.();
    };
    stop = clock.after(timeoutMs, () => giveUp(`It took more than ${timeoutMs} ms.`));
    Promise.resolve(promised).then(
      (value) => settle({ type: "returned", value }),
      (error) => settle({ type: "threw", message: inShort(textOfError(error)) }),
    );
    cancellation?.onCancel(() => giveUp("What it was called for is not wanted any more."));
  });
}

function inShort(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text;
}

const longestMessage = 500;
