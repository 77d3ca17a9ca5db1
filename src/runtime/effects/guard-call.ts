/**
 * The `besideLLMCall` hooks of a model call: they run while the model streams, and may end the call.
 *
 * 1. The attempt settles when the stream has ended and every hook has returned, so no tool runs and no answer counts before then.
 * 2. Calls of one hook never overlap. Text that streams meanwhile is part of the next call.
 * 3. If a hook holds the answer back, no delta of the attempt is published before all hooks let it pass.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import { toolCallsOf, untrimmedTextOf } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import { continuedText } from "../../core/transcript/run-record.js";
import type { ModelStreamSubject } from "../../ports/hook.js";
import type { MessageDelta, ModelRequest } from "../../ports/model.js";
import type { CompiledHook } from "../agent/compile-hooks.js";
import { callWithContext } from "../hooks/call-hooks.js";
import { pickOnlyMember, readReason } from "../hooks/check-return.js";
import { abort, type Cancellation, createCancellation, onCancel } from "../lib/cancellation.js";
import type { SettledCall } from "../lib/time-limit.js";
import { findEnd, toMessage } from "../model/assembled-message.js";
import type { MessageAssembly } from "../model/message-assembly.js";
import type { EffectContext } from "../work/effect-context.js";

/**
 * The verdict of the hooks on an attempt. `unseen`: the answer was whole, but the attempt was cancelled before all hooks had
 * checked it.
 */
export type Verdict =
  | { readonly type: "passed" | "unseen" }
  | { readonly type: "tripped"; readonly reason: "refused" | "output_refused"; readonly message: string };

export const passedVerdict: Verdict = { type: "passed" };

type Publish = (deltas: readonly MessageDelta[]) => void;

export type GuardedCall = {
  /** Ends the stream: because the call is no longer wanted, or because a hook has tripped. */
  readonly cancellation: Cancellation;
  /** Whether deltas are buffered until all hooks let the answer pass. */
  readonly holds: boolean;
  /** Publishes deltas, or buffers them. */
  readonly pass: (assembly: MessageAssembly, deltas: readonly MessageDelta[], publish: Publish) => void;
  /** Resolves when the stream has ended and all hooks have returned. Publishes the buffered deltas if all hooks accept the answer. */
  readonly settled: (assembly: MessageAssembly, publish: Publish) => Promise<Verdict>;
  readonly records: () => readonly HookRecord[];
};

/** How many characters are streamed between two calls of a hook. */
const askEveryCharacters = 500;

/** The state of one hook. */
type HookWatch = {
  readonly hook: CompiledHook;
  ms: number;
  outcome: HookRecord["outcome"];
  message: string | undefined;
  asked: Promise<void>;
  isAsked: boolean;
  askedUpTo: number;
};

export function guardCall(
  call: { readonly modelCallIndex: number; readonly attempt: number },
  request: ModelRequest,
  context: EffectContext,
  outerCancellation: Cancellation,
): GuardedCall {
  const { hooks, clock } = context.agent;
  const cancellation = createCancellation();
  const stopListening = onCancel(outerCancellation, () => abort(cancellation, outerCancellation.reason));
  const buffered: MessageDelta[] = [];
  const holds = hooks.besideLLMCall.some((hook) => hook.holds);
  const continued = continuedText(context.transcript);
  let tripped: Verdict | null = null;

  const { modelCallIndex, attempt } = call;
  const subjectBase = { modelCallIndex, attempt, messages: request.messages };
  const watches = hooks.besideLLMCall.map((hook): HookWatch => {
    const watch = { hook, ms: 0, outcome: "ok" as const, message: undefined, isAsked: false, askedUpTo: 0 };
    return { ...watch, asked: Promise.resolve() };
  });
  for (const watch of watches) queueAsk(watch, { ...subjectBase, stage: "input" });

  function queueAsk(watch: HookWatch, subject: ModelStreamSubject): void {
    watch.isAsked = true;
    watch.asked = watch.asked.then(() => askHook(watch, subject));
  }

  async function askHook(watch: HookWatch, subject: ModelStreamSubject): Promise<void> {
    if (!cancellation.isCancelled) {
      const startedAt = clock.elapsed();
      const { hook } = watch;
      const settledCall = await callWithContext(
        (own) => hook.call(deepFreeze(subject), own),
        hook.timeoutMs,
        context,
        cancellation,
      );
      watch.ms += Math.max(0, clock.elapsed() - startedAt);
      // If an abort or another hook has cancelled the call, its outcome is meaningless.
      if (!cancellation.isCancelled) applyObjection(watch, settledCall, subject.stage);
    }
    watch.isAsked = false;
  }

  function applyObjection(watch: HookWatch, settledCall: SettledCall, stage: ModelStreamSubject["stage"]): void {
    const objection = findObjection(settledCall);
    if (objection === null) return;
    watch.outcome = objection.outcome;
    watch.message = objection.message;
    if (objection.outcome !== "tripped" && !watch.hook.isClosed) return;
    const what = objection.outcome === "tripped" ? "tripped" : "failed";
    const message = `the guard "${watch.hook.name}" ${what}: ${objection.message}`;
    tripped = { type: "tripped", reason: stage === "input" ? "refused" : "output_refused", message };
    abort(cancellation, () => new DOMException(message, "AbortError"));
  }

  function answerText(assembly: MessageAssembly): string {
    return continued + untrimmedTextOf(toMessage(assembly));
  }

  async function settled(assembly: MessageAssembly, publish: Publish): Promise<Verdict> {
    const isWhole = findEnd(assembly).type !== "failed";
    if (isWhole && tripped === null) {
      const end = { ...subjectBase, stage: "output" as const, text: answerText(assembly), isComplete: true };
      for (const watch of watches) queueAsk(watch, { ...end, hasCalls: toolCallsOf(toMessage(assembly)).length > 0 });
    }
    for (const { asked } of watches) await asked;
    stopListening();
    if (tripped !== null) return tripped;
    // The hooks do not check the end of a failed answer.
    if (!isWhole) return passedVerdict;
    if (cancellation.isCancelled) return { type: "unseen" };
    if (buffered.length > 0) publish(buffered);
    return passedVerdict;
  }

  return {
    cancellation,
    holds,
    pass(assembly, deltas, publish) {
      if (holds) buffered.push(...deltas);
      else publish(deltas);
      if (assembly.end !== null) return;
      for (const watch of watches) {
        if (watch.isAsked || assembly.characters - watch.askedUpTo < askEveryCharacters) continue;
        watch.askedUpTo = assembly.characters;
        const text = answerText(assembly);
        queueAsk(watch, { ...subjectBase, stage: "output", text, isComplete: false, hasCalls: false });
      }
    },
    settled,
    records: () => watches.map(toHookRecord),
  };
}

function toHookRecord({ hook: { name }, ms, outcome, message }: HookWatch): HookRecord {
  const record = { name, hook: "besideLLMCall", ms: Math.round(ms * 1_000) / 1_000, outcome } as const;
  return message === undefined ? record : { ...record, message };
}

type Objection = { readonly outcome: "tripped" | "threw" | "timed_out" | "refused"; readonly message: string };

/** Null if the hook accepts the answer. */
function findObjection(settled: SettledCall): Objection | null {
  if (settled.type !== "returned") return { outcome: settled.type, message: settled.message };
  if (settled.value === undefined) return null;
  try {
    const reason = readReason(pickOnlyMember(settled.value, ["trip"])?.value);
    if (reason !== undefined) return { outcome: "tripped", message: reason };
  } catch {
    // A getter or a proxy threw, so the returned value cannot be read.
  }
  return { outcome: "refused", message: "It may return nothing or { trip: reason }." };
}
