/**
 * Calls hooks, whatever they do.
 *
 * 1. They are called one after the other; where all answer at once, so does this.
 * 2. One that throws, or takes too long, or returns what it may not, has no effect but what its `onFailure` says.
 * 3. What a hook does after it was cut off counts for nothing.
 */
import type { HookPoint, HookRecord } from "../../core/machine/event.js";
import type { CompiledHook } from "../agent/compile-hooks.js";
import { depsOf } from "../agent/local-run-options.js";
import { type Cancellation, onCancel } from "../lib/cancellation.js";
import { textOfError } from "../lib/error-text.js";
import { freeze } from "../lib/freeze.js";
import { isThenable } from "../lib/maybe-promise.js";
import type { EffectContext, OwnContext } from "../work/effect-context.js";

/** What an answer makes of what was so far. */
export type HookVerdict<So> =
  | { readonly type: "changed"; readonly to: So }
  /** It settles the matter: the hooks after it are not asked. */
  | { readonly type: "settled"; readonly to: So }
  | { readonly type: "refused"; readonly message: string };

export type HookCall<So> = {
  readonly point: HookPoint;
  /** What there is before the first hook is asked. */
  readonly first: So;
  /** What a hook gets to see of it. */
  readonly show: (so: So) => object;
  readonly take: (answer: unknown, so: So) => HookVerdict<So>;
};

export type HookCallResult<So> = {
  readonly to: So;
  readonly records: readonly HookRecord[];
  /** Why nothing may go on as if there were no hooks: one failed whose `onFailure` is closed. */
  readonly failure?: string;
};

/** What goes from one hook to the next. */
type Sequence<So> = {
  readonly asking: HookCall<So>;
  readonly work: EffectContext;
  readonly cancellation: Cancellation | undefined;
  readonly records: HookRecord[];
};

/** Asks the hooks of a point. Without a `cancellation` only their own time cuts them off. */
export function callHooks<So>(
  asking: HookCall<So>,
  work: EffectContext,
  cancellation?: Cancellation,
): HookCallResult<So> | Promise<HookCallResult<So>> {
  return askFrom(0, asking.first, { asking, work, cancellation, records: [] });
}

/** A loop as long as hooks answer at once: with many of them, what is made for each is most of the cost. */
function askFrom<So>(first: number, so: So, sequence: Sequence<So>): HookCallResult<So> | Promise<HookCallResult<So>> {
  const { asking, work, records } = sequence;
  const { hooks, clock } = work.parts;
  let present = so;
  let subject: object | undefined;
  for (let index = first; ; index += 1) {
    const hook = hooks[asking.point][index];
    if (hook === undefined) return { to: present, records };
    subject ??= freeze(asking.show(present));
    const startedAt = clock.elapsed();
    const answer = callHook(hook, subject, sequence);
    if (answer instanceof Promise)
      return answer.then((settled) => {
        const next = takeAnswer(settled, hook, present, startedAt, sequence);
        return "asked" in next ? next.asked : askFrom(index + 1, next.to, sequence);
      });
    const next = takeAnswer(answer, hook, present, startedAt, sequence);
    if ("asked" in next) return next.asked;
    if (next.to !== present) subject = undefined;
    present = next.to;
  }
}

/** Where nothing more is to be asked, what came of all. */
type Next<So> = { readonly to: So } | { readonly asked: HookCallResult<So> };

function takeAnswer<So>(
  answer: SettledCall,
  hook: CompiledHook,
  so: So,
  startedAt: number,
  { asking: { point, take }, work, records }: Sequence<So>,
): Next<So> {
  const judged = judge(answer, so, take);
  const ms = Math.max(0, Math.round((work.parts.clock.elapsed() - startedAt) * 1_000) / 1_000);
  const { outcome, message } = judged;
  const { name } = hook;
  records.push(
    message === undefined ? { name, hook: point, ms, outcome } : { name, hook: point, ms, outcome, message },
  );
  if (message !== undefined && hook.isClosed)
    return {
      asked: { to: so, records, failure: `the hook "${name}" failed at ${point}: ${message.replace(/\.$/, "")}` },
    };
  return judged.isSettled ? { asked: { to: judged.to, records } } : judged;
}

/** For hooks that return nothing. */
export function refuseAnyReturn(answer: unknown): HookVerdict<never> {
  return refused(answer, "nothing");
}

export function refused(answer: unknown, allowed: string): HookVerdict<never> {
  const kind = Array.isArray(answer) ? "an array" : answer === null ? "null" : typeof answer;
  const keys = kind === "object" ? Object.keys(answer as object) : [];
  const what = kind === "object" ? `an object with ${keys.slice(0, 10).join(", ") || "no keys"}` : `a value (${kind})`;
  return { type: "refused", message: `It returned ${what.slice(0, 300)}; it may return ${allowed}.` };
}

type Judged<So> = Pick<HookRecord, "outcome" | "message"> & { readonly to: So; readonly isSettled: boolean };

function judge<So>(answer: SettledCall, so: So, take: HookCall<So>["take"]): Judged<So> {
  if (answer.type !== "returned") return { outcome: answer.type, message: answer.message, to: so, isSettled: false };
  if (answer.value === undefined) return { outcome: "ok", to: so, isSettled: false };
  let taken: HookVerdict<So>;
  try {
    taken = take(answer.value, so);
  } catch (error) {
    taken = { type: "refused", message: `What it returned cannot be used: ${inShort(textOfError(error))}` };
  }
  if (taken.type === "refused") return { outcome: "refused", message: taken.message, to: so, isSettled: false };
  return { outcome: "changed", to: taken.to, isSettled: taken.type === "settled" };
}

function callHook<So>(hook: CompiledHook, subject: object, sequence: Sequence<So>): SettledCall | Promise<SettledCall> {
  const { work, cancellation } = sequence;
  const own = contextOf(work);
  work.memory.hookContext = null;
  try {
    const value = hook.call(subject, own.context);
    if (isThenable(value))
      return waitInTime(value, { timeoutMs: hook.timeoutMs, clock: work.parts.clock, cancellation, onOver: own.end });
    if (!own.isUsed()) work.memory.hookContext = own;
    return value === undefined ? returnedNothing : { type: "returned", value };
  } catch (error) {
    return threw(error);
  }
}

const returnedNothing: SettledCall = { type: "returned", value: undefined };

function threw(error: unknown): SettledCall {
  return { type: "threw", message: inShort(textOfError(error)) };
}

/**
 * The context of one hook. Its signal is made only for those that look at it; a context whose signal nobody has looked at does
 * for the next hook of the run, as an object with a getter takes a microsecond to make.
 */
function contextOf({ sessionId, parts, transcript, memory }: EffectContext): OwnContext {
  const runId = transcript.run?.runId ?? "";
  const deps = depsOf(parts, runId);
  const spare = memory.hookContext;
  if (spare !== null && spare.context.runId === runId && spare.context.deps === deps) return spare;
  let own: AbortController | undefined;
  let isOver = false;
  const context = Object.freeze({
    sessionId,
    runId,
    deps,
    get signal() {
      own ??= new AbortController();
      if (isOver) own.abort();
      return own.signal;
    },
  });
  const end = () => {
    isOver = true;
    own?.abort();
  };
  return { context, isUsed: () => own !== undefined, end };
}

/** What came of calling somebody's code. */
export type SettledCall =
  | { readonly type: "returned"; readonly value: unknown }
  | { readonly type: "threw" | "timed_out"; readonly message: string };

type InTime = {
  readonly timeoutMs: number;
  readonly clock: EffectContext["parts"]["clock"];
  readonly cancellation?: Cancellation | undefined;
  /** Called where it is not waited for any more. */
  readonly onOver?: () => void;
};

/** Calls somebody's code, and waits for what it promises no longer than it may take. */
export function settleInTime(act: () => unknown, inTime: InTime): SettledCall | Promise<SettledCall> {
  try {
    const value = act();
    return isThenable(value) ? waitInTime(value, inTime) : { type: "returned", value };
  } catch (error) {
    return threw(error);
  }
}

function waitInTime(
  promised: PromiseLike<unknown>,
  { timeoutMs, clock, cancellation, onOver }: InTime,
): Promise<SettledCall> {
  return new Promise((resolve) => {
    let stop = () => {};
    const settle = (answer: SettledCall) => {
      stop();
      if (cancellation !== undefined) onCancel(cancellation, () => {});
      resolve(answer);
    };
    const giveUp = (message: string) => {
      settle({ type: "timed_out", message });
      onOver?.();
    };
    stop = clock.after(timeoutMs, () => giveUp(`It took more than ${timeoutMs} ms.`));
    Promise.resolve(promised).then(
      (value) => settle({ type: "returned", value }),
      (error) => settle(threw(error)),
    );
    if (cancellation !== undefined)
      onCancel(cancellation, () => giveUp("What it was called for is not wanted any more."));
  });
}

function inShort(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text;
}

const longestMessage = 500;
