/**
 * The durable operations of a tool: `ctx.step`, `ctx.ask`, `ctx.sleep` and `ctx.waitFor`.
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
  /** The steps that have begun but not ended. */
  readonly underWay: () => readonly string[];
};

export function createToolSteps(call: StepCall): ToolSteps {
  const host = createStepHost(call);
  const questions = createQuestions(host);
  const running = new Set<string>();

  async function step(name: string, run: (context: StepContext) => unknown, options: StepOptions = {}) {
    checkStep(name, run, options);
    const key = host.admit(name);
    return host.pending(async () => {
      const recorded = await host.take(key);
      if (recorded === detached) return detached;
      if (recorded !== undefined) return host.given(recorded);
      await questions.whenNotAsking();
      if (host.isSuspended()) return detached;
      running.add(key);
      try {
        return await runStep(host, key, run, options);
      } finally {
        running.delete(key);
      }
    });
  }

  return {
    step,
    ask: questions.ask,
    sleep: questions.sleep,
    waitFor: questions.waitFor,
    asking: questions.asking,
    end: () => host.end(),
    underWay: () => [...running],
  };
}
