/**
 * What a tool has for doing things durably: `ctx.step` and `ctx.ask`.
 */
import type { StepContext, StepOptions } from "../../ports/tool.js";
import { checkStep } from "./check-step.js";
import { createStepHost, runStep, type StepEnding, type SteppingCall } from "./step-host.js";
import { createQuestions, type Questions } from "./tool-questions.js";

export type ToolSteps = {
  readonly step: (name: string, run: (context: StepContext) => unknown, options?: StepOptions) => Promise<unknown>;
  readonly ask: Questions["ask"];
  readonly end: () => StepEnding | undefined;
};

export function createToolSteps(call: SteppingCall): ToolSteps {
  const host = createStepHost(call);
  const questions = createQuestions(host);

  async function step(name: string, run: (context: StepContext) => unknown, options: StepOptions = {}) {
    checkStep(name, run, options);
    const key = host.admit(name);
    return host.pending(async () => {
      const recorded = await host.take(key);
      if (recorded !== undefined) return host.given(recorded);
      await questions.whenNotAsking();
      return runStep(host, key, run, options);
    });
  }

  return { step, ask: questions.ask, end: () => host.end() };
}
