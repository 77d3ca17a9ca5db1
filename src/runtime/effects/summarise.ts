/**
 * Asks a model for a summary. The call has timeouts, retries by the agent's policy, and a usage that counts, as any model call;
 * it has no tools and no subscribers.
 */

import { withCost } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import { freeze } from "../../core/data/freeze.js";
import { type ModelFailure, textOf, toolCallsOf, type Usage, type UserMessage } from "../../core/data/message.js";
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
  /** Absent if there is no last request to ask after. */
  readonly askBehind?: (instruction: string) => Promise<string | null>;
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

/** The conversation as the last call had it, and the room that is left for an instruction and its answer, in tokens. */
export type LastRequest = { readonly request: ModelRequest; readonly room: number };

const notWanted: ModelFailure = { kind: "cancelled", message: "The compaction is no longer wanted." };

export function createSummariser(
  { runId }: EffectOf<"compact">,
  called: CalledModel,
  context: EffectContext,
  cancellation: Cancellation,
  last: LastRequest | null,
): Summariser {
  const { sessionId, parts, state, now } = context;
  const { model, retry, timeouts } = called;
  const modelCallIndex = state.status === "idle" ? 0 : state.modelCallIndex;
  let used: Usage | undefined;
  const asked: Asked[] = [];

  async function attempt(asking: Asked): Promise<string | ModelFailure> {
    const { request } = asking;
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
    if (end.type !== "done") return end.failure;
    const message = messageOf(assembly);
    return asking.behind && toolCallsOf(message).length > 0 ? calledTools : textOf(message);
  }

  async function answerTo(asking: Omit<Asked, "attempts">): Promise<string | ModelFailure> {
    const startedAt = now();
    const named = { ...asking, attempts: 0 };
    asked.push(named);
    for (let count = 1; ; count += 1) {
      const answer = await attempt(named);
      if (typeof answer === "string") return answer;
      const elapsedMs = now() - startedAt;
      const isFinal = answer === calledTools || answer.kind === "cancelled";
      const delayMs = isFinal ? undefined : retryDelayMs(retry, answer, count, elapsedMs, hasAnswered(context));
      if (delayMs === undefined) return answer;
      await sleep(delayMs, context, cancellation);
    }
  }

  const { texts } = context.memory;
  const identity = { sessionId, runId, modelCallIndex };

  async function askBehind({ request, room }: LastRequest, instruction: string): Promise<string | null> {
    if (parts.services.tokens.text(instruction) > room) return null;
    const answer = await answerTo({
      prompt: nameText(texts, request.systemPrompt ?? ""),
      text: nameText(texts, instruction),
      request: requestBehind(identity, request, instruction),
      behind: true,
    });
    if (typeof answer === "string") return answer.trim() === "" ? null : answer;
    if (answer === calledTools || refusals.has(answer.kind)) return null;
    throw new SummariserFailure(answer);
  }

  return {
    async ask({ systemPrompt, text }) {
      const answer = await answerTo({
        prompt: nameText(texts, systemPrompt),
        text: nameText(texts, text),
        request: summaryRequestOf(identity, systemPrompt, text),
        behind: false,
      });
      if (typeof answer === "string") return answer;
      throw new SummariserFailure(answer);
    },
    ...(last === null ? {} : { askBehind: (instruction: string) => askBehind(last, instruction) }),
    usage: () => used,
    requests: () =>
      asked.map(({ prompt, text, attempts, behind }) => ({
        prompt: prompt.hash,
        text: text.hash,
        attempts,
        ...(behind ? { behind } : {}),
      })),
  };
}

type NamedText = ReturnType<typeof nameText>;
type Asked = {
  readonly prompt: NamedText;
  readonly text: NamedText;
  readonly request: ModelRequest;
  readonly behind: boolean;
  attempts: number;
};

const calledTools: ModelFailure = { kind: "provider", message: "The model called a tool instead of summing up." };

/** Failures of a request that another request may not share. */
const refusals: ReadonlySet<ModelFailure["kind"]> = new Set(["context_overflow", "invalid_request", "content_filter"]);

/**
 * The last request, followed by an instruction. Whatever a provider's cache covers stays as it was: tools, prompt, messages,
 * tool choice and reasoning. A choice that forces a call would give no summary, and limits of the answer would cut it.
 */
export function requestBehind(
  identity: Omit<RequestIdentity, "attempt">,
  last: ModelRequest,
  instruction: string,
): ModelRequest {
  const { responseFormat: _, maxOutputTokens: __, stopSequences: ___, toolChoice, ...kept } = last;
  const asking: UserMessage = freeze({ role: "user", parts: [{ type: "text", text: instruction }] });
  return Object.freeze({
    ...kept,
    ...identity,
    ...(toolChoice === undefined || toolChoice === "auto" ? defined({ toolChoice }) : { toolChoice: "none" as const }),
    attempt: 0,
    messages: Object.freeze([...last.messages, asking]),
    purpose: "compaction",
  });
}

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
