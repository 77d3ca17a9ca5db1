/**
 * The durable operations of a tool: `ctx.step`, `ctx.ask`, `ctx.sleep` and `ctx.waitFor`.
 *
 * 1. No promise that a tool gets can end the process as an unhandled rejection. The tool may have ended before the promise rejects, because
 *    it was aborted, threw, or forgot an `await`; its call has its result then, and a step that it did not wait for is reported.
 */
import type { StepContext, StepOptions } from "../../ports/tool.js";
import { checkStep } from "./check-step.js";
import { createStepHost, runStep, type StepCall, type StepEnding } from "./step-host.js";
import { detached } from "./tool-attempt.js";
import { createQuestions, type ToolQuestions } from "./tool-questions.js";

export type ToolSteps = {
  readonly step: (name: string, run: (context: StepContext) => unknown, options?: StepOptions) => Promise<unknown>;
  readonly ask: ToolQuestions["ask"];
  readonly sleep: ToolQuestions["sleep"];
  readonly waitFor: ToolQuestions["waitFor"];
  readonly asking: ToolQuestions["asking"];
  readonly end: () => StepEnding | undefined;
  /** The steps, questions and waits that the tool has requested and whose results it does not have. */
  readonly listPending: () => readonly string[];
};

export function createToolSteps(call: StepCall): ToolSteps {
  const host = createStepHost(call);
  const questions = createQuestions(host);

  async function step(name: string, run: (context: StepContext) => unknown, options: StepOptions = {}) {
    checkStep(name, run, options);
    const key = host.admit(name);
    return host.pending(key, async () => {
      const recorded = await host.take(key);
      if (recorded === detached) return detached;
      if (recorded !== undefined) return host.given(recorded);
      await questions.whenNotAsking();
      if (host.isSuspended()) return detached;
      return runStep(host, key, run, options);
    });
  }

  return {
    step: (...given) => markHandled(step(...given)),
    ask: (question) => markHandled(questions.ask(question)),
    sleep: (...given) => markHandled(questions.sleep(...given)),
    waitFor: (...given) => markHandled(questions.waitFor(...given)),
    asking: questions.asking,
    end: () => host.end(),
    listPending: host.listPending,
  };
}

function markHandled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}
