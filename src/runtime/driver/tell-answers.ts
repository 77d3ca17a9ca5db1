/**
 * Gives the tools that wait for answers what a commit brought.
 */
import { questionAnswer } from "../../core/transcript/tool-steps.js";
import { heldKey } from "../effects/held-questions.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import type { ProcessMemory } from "../work/effect-context.js";

export function tellAnswers(held: NonNullable<ProcessMemory["held"]>, steps: readonly CommittedEntry[]): void {
  for (const { entry } of steps) {
    const { event } = entry;
    if (event.type !== "answered" && event.type !== "timer_fired") continue;
    const { callKey, questionId } = event;
    if (callKey !== undefined && questionId !== undefined)
      held.get(heldKey(callKey, questionId))?.(questionAnswer(event));
  }
}
