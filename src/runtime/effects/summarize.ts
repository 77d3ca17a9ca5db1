/**
 * Asks a model for a summary. Like any model call, the call has timeouts, retries by the agent's policy, and usage that counts. It has no
 * tools and no subscribers.
 */

import { addCost } from "../../context/services.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { type ModelFailure, textOf, toolCallsOf, type Usage, type UserMessage } from "../../core/data/message.js";
import { addUsage } from "../../core/data/usage.js";
import type { SummaryRequest } from "../../core/machine/model-events.js";
import type { SummaryPrompt } from "../../ports/compaction.js";
import type { ModelRequest, RequestIdentity } from "../../ports/model.js";
import { type Cancellation, onCancel } from "../lib/cancellation.js";
import { findEnd, toMessage } from "../model/assembled-message.js";
import { createAssembly } from "../model/message-assembly.js";
import { type CalledModel, findStream } from "../model/models.js";
import { retryDelayMs } from "../model/retry.js";
import { streamMessage } from "../model/stream-attempt.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { queueText } from "../work/prompt-blobs.js";
import { hasAnswered } from "./after-failure.js";

export type Summarizer = {
  readonly ask: (prompt: SummaryPrompt) => Promise<string>;
  /** Absent if there is no last request to continue. */
  readonly askBehind?: (instruction: string) => Promise<string | null>;
  /** The usage of all attempts so far; undefined before the first. */
  readonly usage: () => Usage | undefined;
  /** The requests so far, in the form in which the log stores them. */
  readonly requests: () => readonly SummaryRequest[];
};

/** The error that a summarizer throws when it gives up. */
class SummariserFailure extends Error {
  override readonly name = "SummariserFailure";
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

const notHeldFailure: ModelFailure = { kind: "cancelled", message: "The session is no longer held here." };

/** The conversation as sent in the last call, and the remaining room for an instruction and its answer, in tokens. */
export type LastRequest = { readonly request: ModelRequest; readonly room: number };

const notWantedFailure: ModelFailure = { kind: "cancelled", message: "The compaction is no longer wanted." };

export function createSummarizer(
  { runId }: EffectOf<"compact">,
  calledModel: CalledModel,
  context: EffectContext,
  cancellation: Cancellation,
  last: LastRequest | null,
): Summarizer {
  const { sessionId, agent, state, now } = context;
  const { model, retry, timeouts } = calledModel;
  const modelCallIndex = state.status === "idle" ? 0 : state.modelCallIndex;
  let totalUsage: Usage | undefined;
  const calls: SummaryCall[] = [];

  async function attempt(asking: SummaryCall): Promise<string | ModelFailure> {
    const { request } = asking;
    while (!context.hold.isFresh()) if (!(await context.hold.refresh())) return notHeldFailure;
    if (cancellation.isCancelled) return notWantedFailure;
    asking.attempts += 1;
    const assembly = createAssembly(request);
    await streamMessage(assembly, request, {
      stream: findStream(agent, model),
      timeouts,
      clock: agent.clock,
      cancellation,
      publish() {},
      isLeaseFresh: context.hold.isFresh,
    });
    const end = findEnd(assembly);
    const isWhole = end.type === "done" && end.usage.inputTokens !== undefined && end.usage.outputTokens !== undefined;
    const usage = { ...end.usage, ...(isWhole ? {} : { partial: true }) };
    totalUsage = addUsage(totalUsage ?? {}, addCost(usage, model.id, agent.services));
    if (end.type !== "done") return end.failure;
    const message = toMessage(assembly);
    return asking.behind && toolCallsOf(message).length > 0 ? calledToolsFailure : textOf(message);
  }

  async function requestSummary(asking: Omit<SummaryCall, "attempts">): Promise<string | ModelFailure> {
    const startedAt = now();
    const named = { ...asking, attempts: 0 };
    calls.push(named);
    for (let count = 1; ; count += 1) {
      const answer = await attempt(named);
      if (typeof answer === "string") return answer;
      const elapsedMs = now() - startedAt;
      const isFinal = answer === calledToolsFailure || answer.kind === "cancelled";
      const delayMs = isFinal ? undefined : retryDelayMs(retry, answer, count, elapsedMs, hasAnswered(context));
      if (delayMs === undefined) return answer;
      await sleep(delayMs, context, cancellation);
    }
  }

  const { texts } = context.memory;
  const identity = { sessionId, runId, modelCallIndex };

  async function askBehind({ request, room }: LastRequest, instruction: string): Promise<string | null> {
    if (agent.services.tokens.text(instruction) > room) return null;
    const answer = await requestSummary({
      prompt: queueText(texts, request.systemPrompt ?? ""),
      text: queueText(texts, instruction),
      request: createFollowUpRequest(identity, request, instruction),
      behind: true,
    });
    if (typeof answer === "string") return answer.trim() === "" ? null : answer;
    if (answer === calledToolsFailure || refusalKinds.has(answer.kind)) return null;
    throw new SummariserFailure(answer);
  }

  return {
    async ask({ systemPrompt, text }) {
      const answer = await requestSummary({
        prompt: queueText(texts, systemPrompt),
        text: queueText(texts, text),
        request: createSummaryRequest(identity, systemPrompt, text),
        behind: false,
      });
      if (typeof answer === "string") return answer;
      throw new SummariserFailure(answer);
    },
    ...(last === null ? {} : { askBehind: (instruction: string) => askBehind(last, instruction) }),
    usage: () => totalUsage,
    requests: () =>
      calls.map(({ prompt, text, attempts, behind }) => ({
        prompt: prompt.hash,
        text: text.hash,
        attempts,
        ...(behind ? { behind } : {}),
      })),
  };
}

type NamedText = ReturnType<typeof queueText>;
type SummaryCall = {
  readonly prompt: NamedText;
  readonly text: NamedText;
  readonly request: ModelRequest;
  readonly behind: boolean;
  attempts: number;
};

const calledToolsFailure: ModelFailure = {
  kind: "provider",
  message: "The model called a tool instead of summing up.",
};

/** Failures of one request that another request may not have. */
const refusalKinds: ReadonlySet<ModelFailure["kind"]> = new Set([
  "context_overflow",
  "invalid_request",
  "content_filter",
]);

/**
 * The last request, followed by an instruction. Everything that a provider's cache covers stays the same: tools, prompt, messages, tool
 * choice and reasoning. A choice that forces a call would prevent a summary, and limits on the answer would truncate it.
 */
export function createFollowUpRequest(
  identity: Omit<RequestIdentity, "attempt">,
  last: ModelRequest,
  instruction: string,
): ModelRequest {
  const { responseFormat: _, maxOutputTokens: __, stopSequences: ___, toolChoice, ...kept } = last;
  const asking: UserMessage = deepFreeze({ role: "user", parts: [{ type: "text", text: instruction }] });
  return Object.freeze({
    ...kept,
    ...identity,
    ...(toolChoice === undefined || toolChoice === "auto" ? defined({ toolChoice }) : { toolChoice: "none" as const }),
    attempt: 0,
    messages: Object.freeze([...last.messages, asking]),
    purpose: "compaction",
  });
}

/** The request for a summary. The log refers to its texts, so that the request can be rebuilt. */
export function createSummaryRequest(
  identity: Omit<RequestIdentity, "attempt">,
  systemPrompt: string,
  text: string,
): ModelRequest {
  return deepFreeze({
    ...identity,
    attempt: 0,
    systemPrompt,
    messages: [{ role: "user", parts: [{ type: "text", text }] }],
    tools: [],
    toolChoice: "none",
    purpose: "compaction",
  });
}

/** Resolves early if the compaction is cancelled. */
function sleep(ms: number, { agent }: EffectContext, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    let stopListening = () => {};
    const stopTimer = agent.clock.after(ms, () => {
      stopListening();
      resolve();
    });
    stopListening = onCancel(cancellation, () => {
      stopTimer();
      resolve();
    });
  });
}
