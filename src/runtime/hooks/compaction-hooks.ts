/**
 * The `beforeCompaction` hooks: what a summary must also preserve, and whether a requested compaction is skipped.
 *
 * 1. Only a compaction that a person requested can be skipped. Without the others, a run would end when the context window is full.
 * 2. The `compacted` event names the hooks and has the request to the summarizer, so a replay does not call them again.
 */
import { defined } from "../../core/data/defined.js";
import type { HookRecord } from "../../core/machine/event.js";
import type { CompactionStartSubject } from "../../ports/hook.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { callHooks, type HookCall, refuseAnswer } from "./call-hooks.js";
import { pickOnlyMember, readReason } from "./check-return.js";

export type CompactionPlan = {
  /** What the summary must preserve. */
  readonly keep?: string;
  /** Why there is no compaction. */
  readonly skipped?: { readonly code: "refused" | "hook_failed"; readonly why: string };
  readonly records: readonly HookRecord[];
};

/** The request of a person may have 10,000 characters. */
const maxKeepCharacters = 20_000;

export function* callBeforeCompaction(
  subject: CompactionStartSubject,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<CompactionPlan> {
  const { value, records, failure } = yield* callHooks(createCall(subject), context, cancellation);
  const { keep, skip } = value;
  const canSkip = subject.trigger === "manual";
  if (failure !== undefined && canSkip) return { records, skipped: { code: "hook_failed", why: failure } };
  if (skip !== undefined) return { records, skipped: { code: "refused", why: skip } };
  return { records, ...defined({ keep }) };
}

type Choice = { readonly keep?: string; readonly skip?: string };

function createCall({ keep, ...subject }: CompactionStartSubject): HookCall<Choice> {
  return {
    point: "beforeCompaction",
    initial: defined({ keep }),
    toSubject: (present) => ({ ...subject, ...defined({ keep: present.keep }) }),
    accept(answer, present) {
      const member = pickOnlyMember(answer, ["keep", "skip"]);
      const text = readReason(member?.value);
      if (member === undefined || text === undefined) return refuseAnswer(answer, "{ keep: text } or { skip: reason }");
      if (member.key === "skip")
        return subject.trigger === "manual" ? { type: "settled", to: { skip: text } } : { type: "ignored" };
      return { type: "changed", to: { keep: joinKept(present.keep, member.value as string) } };
    },
  };
}

/** @throws Error if the text is too long for the summarizer */
function joinKept(before: string | undefined, added: string): string {
  if (added.length > maxKeepCharacters)
    throw new Error(`keep has ${added.length} characters; it may have at most ${maxKeepCharacters}`);
  return before === undefined ? added : `${before}\n${added}`;
}
