/**
 * What the demo model does next.
 *
 * It keeps nothing between calls: the plan is replayed over the conversation, and the first step that is not in it is what comes next.
 */
import type { CallResult, Turn } from "./conversation.js";
import type { Finding } from "./report.js";
import { parseRequest, type Task } from "./request.js";
import { carryOut, type Step } from "./tasks.js";

export type Outcome =
  | { readonly type: "step"; readonly step: Step }
  | { readonly type: "done"; readonly findings: readonly Finding[] }
  | {
      readonly type: "failed";
      readonly findings: readonly Finding[];
      readonly reason: string;
      /** Tasks that were to come after it. */
      readonly skipped: number;
    }
  /** The conversation holds other calls than the plan. */
  | { readonly type: "lost" };

/** The state of the last request: its next step, or how it ended. */
export function planTurn(tasks: readonly Task[], turns: readonly Turn[]): Outcome {
  const turn = turns.at(-1);
  const findings: Finding[] = [];
  const steps = [...(turn?.steps ?? [])];
  for (const [index, task] of tasks.entries()) {
    const found = () => (findings.length > 0 ? findings : findingsBefore(turns));
    const work = carryOut(task, found, turn?.request ?? "");
    let next = work.next();
    while (next.done !== true) {
      const results = steps.shift();
      if (results === undefined) return { type: "step", step: next.value };
      if (!isSameStep(next.value, results)) return { type: "lost" };
      const failure = results.find((result) => result.isError);
      if (failure !== undefined)
        return { type: "failed", findings, reason: reasonOf(failure, results), skipped: tasks.length - index - 1 };
      next = work.next(results);
    }
    findings.push(next.value);
  }
  return steps.length > 0 ? { type: "lost" } : { type: "done", findings };
}

/** What the latest earlier request found that found something, so that `write it to a file` can come later. */
function findingsBefore(turns: readonly Turn[]): readonly Finding[] {
  for (const turn of turns.slice(0, -1).reverse()) {
    const request = parseRequest(turn.request);
    if (request.type !== "tasks") continue;
    const outcome = planTurn(request.tasks, [turn]);
    if ("findings" in outcome && outcome.findings.some((finding) => finding.section !== "")) return outcome.findings;
  }
  return [];
}

function isSameStep(step: Step, results: readonly CallResult[]): boolean {
  return step.calls.length === results.length && step.calls.every((call, index) => call.name === results[index]?.name);
}

function reasonOf(failure: CallResult, results: readonly CallResult[]): string {
  const succeeded = results.filter((result) => !result.isError).length;
  const others = succeeded === 0 ? "" : ` (${succeeded} of the ${results.length} calls of this step succeeded)`;
  return `${failure.name}: ${failure.text.replace(/^Error: /, "")}${others}`;
}
