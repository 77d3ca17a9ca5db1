/**
 * Asks a model for a summary. The call has timeouts, retries by the agent's policy, and a usage that counts, as any model call;
 * it has no tools and no subscribers.
 */

import { withCost } from "../../context/services.js";
import { freeze } from "../../core/data/freeze.js";
import { type ModelFailure, textOf, type Usage } from "../../core/data/message.js";
import { addUsage } from "../../core/data/usage.js";
import type { SummaryRequest } from "../../core/machine/model-events.js";
import type { SummaryPrompt } from "../../ports/compaction.js";
import type { ModelRequest, RequestIdentity } from "../../ports/model.js";
import { type Cancellation, onCancel } from "../lib/cancellation.js";
import { endOf, messageOf } from "../model/assembled-message.js";
import { createAssembly } from "../model/message-assembly.js";
import type { CalledModel } from "../model/models.js";
import { retryDelayMs } from "../model/retry.js";
import { streamInto } from "../model/stream-attempt.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { nameText } from "../work/prompt-blobs.js";
import { hasAnswered } from "./after-failure.js";

export type Summariser = {
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
  /** What all its attempts used so far; undefined before the first. */
  readonly usage: () => Usage | undefined;
  /** What it was asked so far, as the log names it. */
  readonly requests: () => readonly SummaryRequest[];
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

const notWanted: ModelFailure = { kind: "cancelled", message: "The compaction is no longer wanted." };

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
  const asked: Asked[] = [];

  async function attempt(asking: Asked): Promise<string | ModelFailure> {
    const request = summaryRequestOf({ sessionId, runId, modelCallIndex }, asking.prompt.text, asking.text.text);
    while (!context.hold.isSure()) if (!(await context.hold.makeSure())) return heldElsewhere;
    if (cancellation.isCancelled) return notWanted;
    asking.attempts += 1;
    const assembly = createAssembly(request);
    await streamInto(assembly, request, {
      model,
      timeouts,
      clock: parts.clock,
      cancellation,
      publish() {},
      memory: context.memory,
      isSure: context.hold.isSure,
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
      const { texts } = context.memory;
      const named = { prompt: nameText(texts, prompt.systemPrompt), text: nameText(texts, prompt.text), attempts: 0 };
      asked.push(named);
      for (let count = 1; ; count += 1) {
        const answer = await attempt(named);
        if (typeof answer === "string") return answer;
        const elapsedMs = now() - startedAt;
        const delayMs =
          answer.kind === "cancelled" ? undefined : retryDelayMs(retry, answer, count, elapsedMs, hasAnswered(context));
        if (delayMs === undefined) throw new SummariserFailure(answer);
        await sleep(delayMs, context, cancellation);
      }
    },
    usage: () => used,
    requests: () => asked.map(({ prompt, text, attempts }) => ({ prompt: prompt.hash, text: text.hash, attempts })),
  };
}

type NamedText = ReturnType<typeof nameText>;
type Asked = { readonly prompt: NamedText; readonly text: NamedText; attempts: number };

/** The request for a summary. The log names its texts, so that it can be made again. */
export function summaryRequestOf(
  identity: Omit<RequestIdentity, "attempt">,
  systemPrompt: string,
  text: string,
): ModelRequest {
  return freeze({
    ...identity,
    attempt: 0,
    systemPrompt,
    messages: [{ role: "user", parts: [{ type: "text", text }] }],
    tools: [],
    toolChoice: "none",
    purpose: "compaction",
  });
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
