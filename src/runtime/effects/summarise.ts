/**
 * Asks a model for a summary. The call has timeouts, retries by the agent's policy, and a usage that counts, as any model call;
 * it has no tools and no subscribers.
 */

import { withCost } from "../../context/services.js";
import { addUsage, type ModelFailure, textOf, type Usage } from "../../core/data/message.js";
import type { SummaryPrompt } from "../../ports/compaction.js";
import type { ModelRequest } from "../../ports/model.js";
import { type Cancellation, onCancel } from "../lib/cancellation.js";
import { endOf, messageOf } from "../model/assembled-message.js";
import { createAssembly } from "../model/message-assembly.js";
import type { CalledModel } from "../model/models.js";
import { retryDelayMs } from "../model/retry.js";
import { streamInto } from "../model/stream-attempt.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";

export type Summariser = {
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
  /** What all its attempts used so far; undefined before the first. */
  readonly usage: () => Usage | undefined;
};

/** The error that a summariser throws when it gives up. */
class SummariserFailure extends Error {
  override readonly name = "SummariserFailure";
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

const heldElsewhere: ModelFailure = { kind: "cancelled", message: "The session is no longer held here." };

export function createSummariser(
  { runId }: EffectOf<"compact">,
  called: CalledModel,
  context: EffectContext,
  cancellation: Cancellation,
): Summariser {
  const { sessionId, parts, state, now } = context;
  const { model, retry, timeouts } = called;
  const modelCallIndex = state.status === "idle" ? 0 : state.modelCallIndex;
  let used: Usage | undefined;

  async function attempt({ systemPrompt, text }: SummaryPrompt): Promise<string | ModelFailure> {
    const request: ModelRequest = {
      sessionId,
      runId,
      modelCallIndex,
      attempt: 0,
      systemPrompt,
      messages: [{ role: "user", parts: [{ type: "text", text }] }],
      tools: [],
      toolChoice: "none",
    };
    while (!context.hold.isSure()) if (!(await context.hold.makeSure())) return heldElsewhere;
    const assembly = createAssembly(request);
    await streamInto(assembly, request, {
      model,
      timeouts,
      clock: parts.clock,
      cancellation,
      publish() {},
      memory: context.memory,
    });
    const end = endOf(assembly);
    const isWhole = end.type === "done" && end.usage.inputTokens !== undefined && end.usage.outputTokens !== undefined;
    const usage = { ...end.usage, ...(isWhole ? {} : { partial: true }) };
    used = addUsage(used ?? {}, withCost(usage, model.id, parts.services));
    return end.type === "done" ? textOf(messageOf(assembly)) : end.failure;
  }

  return {
    async ask(prompt) {
      const startedAt = now();
      for (let count = 1; ; count += 1) {
        const answer = await attempt(prompt);
        if (typeof answer === "string") return answer;
        const delayMs = answer.kind === "cancelled" ? undefined : retryDelayMs(retry, answer, count, now() - startedAt);
        if (delayMs === undefined) throw new SummariserFailure(answer);
        await sleep(delayMs, context, cancellation);
      }
    },
    usage: () => used,
  };
}

/** Ends early if the compaction is cancelled. */
function sleep(ms: number, { parts }: EffectContext, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    let stopListening = () => {};
    const stopTimer = parts.clock.after(ms, () => {
      stopListening();
      resolve();
    });
    stopListening = onCancel(cancellation, () => {
      stopTimer();
      resolve();
    });
  });
}
