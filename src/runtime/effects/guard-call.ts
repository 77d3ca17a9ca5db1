/**
 * The hooks beside a model call: they are asked while the model streams, and may end the call.
 *
 * 1. The attempt settles when the stream has ended and every hook has answered. So no tool runs and no answer counts
 *    before.
 * 2. A hook is asked about one thing at a time. What streams meanwhile is part of what it is asked next.
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
 * What the hooks say of an attempt. `unseen`: it was ended before all of them had looked at its answer, which was whole.
 */
export type Verdict =
  | { readonly type: "passed" | "unseen" }
  | { readonly type: "tripped"; readonly reason: "refused" | "output_refused"; readonly message: string };

export const passedVerdict: Verdict = { type: "passed" };

type Publish = (deltas: readonly MessageDelta[]) => void;

export type GuardedCall = {
  /** Ends the stream: because nobody wants the call any more, or because a hook has tripped. */
  readonly cancellation: Cancellation;
  /** Whether deltas are held back until all hooks let the answer pass. */
  readonly holds: boolean;
  /** Takes deltas on their way to those who watch. */
  readonly pass: (assembly: MessageAssembly, deltas: readonly MessageDelta[], publish: Publish) => void;
  /** Resolves when the stream has ended and all hooks have answered. Publishes what was held back if all let it pass. */
  readonly settled: (assembly: MessageAssembly, publish: Publish) => Promise<Verdict>;
  readonly records: () => readonly HookRecord[];
};

/** Characters between two questions about a text that is being streamed. */
const askEveryCharacters = 500;

/** What is known of one hook. */
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
  const { hooks, clock } = context.parts;
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
      const settled = await callWithContext(
        (own) => hook.call(deepFreeze(subject), own),
        hook.timeoutMs,
        context,
        cancellation,
      );
      watch.ms += Math.max(0, clock.elapsed() - startedAt);
      // What was cut off, by an abort or by another hook, says nothing.
      if (!cancellation.isCancelled) applyObjection(watch, settled, subject.stage);
    }
    watch.isAsked = false;
  }

  function applyObjection(watch: HookWatch, settled: SettledCall, stage: ModelStreamSubject["stage"]): void {
    const objection = findObjection(settled);
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
    // Nobody has looked at all of an answer that failed.
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

/** Null: the hook lets it pass. */
function findObjection(settled: SettledCall): Objection | null {
  if (settled.type !== "returned") return { outcome: settled.type, message: settled.message };
  if (settled.value === undefined) return null;
  try {
    const reason = readReason(pickOnlyMember(settled.value, ["trip"])?.value);
    if (reason !== undefined) return { outcome: "tripped", message: reason };
  } catch {
    // A getter or a proxy: what it returned cannot be read.
  }
  return { outcome: "refused", message: "It may return nothing or { trip: reason }." };
}
