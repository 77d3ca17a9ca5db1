/**
 * Asks a model to sum up. It is called as any other is, but for tools and subscribers: with timeouts, retries by the agent's
 * policy, and a usage that counts.
 */

import { withCost } from "../../context/services.js";
import { addUsage, type ModelFailure, textOf, type Usage } from "../../core/data/message.js";
import type { SummaryPrompt } from "../../ports/compaction.js";
import type { ModelRequest } from "../../ports/model.js";
import { type Cancellation, onCancel } from "../lib/cancellation.js";
import { endOf, messageOf } from "../model/assembled-message.js";
import { createAssembly } from "../model/message-assembly.js";
import type { CalledModel } from "../model/models.js";
import { streamInto } from "../model/stream-attempt.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";

export type Summariser = {
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
  /** What all its attempts used so far; undefined where it was not asked. */
  readonly usage: () => Usage | undefined;
};

/** What a summariser's failure is thrown as. */
export class SummariserFailure extends Error {
  override readonly name = "SummariserFailure";
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export function createSummariser(
  { runId }: EffectOf<"compact">,
  called: CalledModel,
  work: EffectContext,
  cancellation: Cancellation,
): Summariser {
  const { sessionId, parts, state, now } = work;
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
    const assembly = createAssembly(request);
    await streamInto(assembly, request, {
      model,
      timeouts,
      clock: parts.clock,
      cancellation,
      publish() {},
      memory: work.memory,
    });
    const end = endOf(assembly);
    const isWhole = end?.type === "done" && end.usage.inputTokens !== undefined && end.usage.outputTokens !== undefined;
    const usage = { ...end?.usage, ...(isWhole ? {} : { partial: true }) };
    used = addUsage(used ?? {}, withCost(usage, model.id, parts.services));
    if (end?.type === "done") return textOf(messageOf(assembly));
    return end?.failure ?? { kind: "network", message: "The stream did not end." };
  }

  return {
    async ask(prompt) {
      const startedAt = now();
      for (let count = 1; ; count += 1) {
        const answer = await attempt(prompt);
        if (typeof answer === "string") return answer;
        const wait = answer.kind === "cancelled" ? undefined : waitAfter(answer, count, now() - startedAt, retry);
        if (wait === undefined) throw new SummariserFailure(answer);
        await sleep(wait, work, cancellation);
      }
    },
    usage: () => used,
  };
}

/** A policy may be anybody's code: one that throws, or gives no time, gives up. */
function waitAfter(
  failure: ModelFailure,
  attempt: number,
  elapsedMs: number,
  retry: CalledModel["retry"],
): number | undefined {
  try {
    const decided = retry.decide(failure, attempt, Math.max(0, elapsedMs));
    return "retryInMs" in decided && Number.isFinite(decided.retryInMs) ? Math.max(0, decided.retryInMs) : undefined;
  } catch {
    return undefined;
  }
}

function sleep(ms: number, { parts }: EffectContext, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    const stop = parts.clock.after(ms, resolve);
    onCancel(cancellation, () => {
      stop();
      resolve();
    });
  });
}
