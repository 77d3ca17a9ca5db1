/**
 * Passes the answers in a commit to the tools that wait for them.
 */
import { questionKey } from "../../core/data/call-key.js";
import { toQuestionAnswer } from "../../core/transcript/tool-steps.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import type { ProcessMemory } from "../work/effect-context.js";

export function resolveAnswers(
  waiters: NonNullable<ProcessMemory["answerWaiters"]>,
  entries: readonly CommittedEntry[],
): void {
  for (const { entry } of entries) {
    const { event } = entry;
    if (event.type !== "answered" && event.type !== "timer_fired") continue;
    const { callKey, questionId } = event;
    if (callKey !== undefined && questionId !== undefined)
      waiters.get(questionKey({ callKey, questionId }))?.(toQuestionAnswer(event));
  }
}
