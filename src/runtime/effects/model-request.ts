/**
 * The request of a model call: the conversation, and the run's options, or the options that hooks chose for this step instead.
 */
import { deepFreeze, freezeMembers } from "../../core/data/freeze.js";
import type { Message } from "../../core/data/message.js";
import type { ToolChoice } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { resolveToolChoice } from "../../core/machine/tool-choice.js";
import { finalSummaryPrompt, finalSummaryWithTools } from "../../core/transcript/loop-prompts.js";
import type { RunRecord } from "../../core/transcript/run-record.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { ModelRequest, ToolSpecification } from "../../ports/model.js";
import { getOutputRequest, type OutputRequest } from "../agent/structured-output.js";
import { type Coroutine, type MaybePromise, runCoroutine, wait } from "../lib/coroutine.js";
import { chooseModel } from "../model/models.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { resolveList } from "../work/message-lists.js";
import { listOfferedTools } from "../work/offered-tools.js";
import { type Prompt, resolvePrompt } from "../work/prompt-blobs.js";
import { buildRequestMessages } from "../work/request-messages.js";
import { getAgentPrompt } from "../work/run-prompt.js";

export type RequestResult =
  | { readonly type: "request"; readonly request: ModelRequest }
  | { readonly type: "missing"; readonly message: string };

/** The log refers to the prompt and the specifications. A process that does not have them yet reads them. */
export function buildRequest(effect: CallIdentity, context: EffectContext): MaybePromise<RequestResult> {
  return runCoroutine(assembleRequest(effect, context));
}

function* assembleRequest(effect: CallIdentity, context: EffectContext): Coroutine<RequestResult> {
  const { state, agent, transcript, memory, sessionId } = context;
  const { model } = chooseModel(context);
  const prompt = yield* wait(resolvePrompt(memory.texts, transcript, currentPrompt(context)));
  if (prompt.type === "missing") return prompt;
  const { sentList } = transcript;
  const list = sentList === null ? null : yield* wait(resolveList(sentList, memory.texts));
  if (list?.type === "missing") return { ...list, message: `${list.message}: the step is prepared anew.` };
  const source = { sessionId, store: agent.store };
  const messages = yield* wait(buildRequestMessages(transcript, list?.messages ?? null, model, source));
  const texts = model.takesDeferredTools === true ? prompt : { ...prompt, specifications: withoutDeferred(prompt) };
  const request = createRequest({ sessionId, effect, state, transcript, messages, texts });
  return { type: "request", request };
}

const listsWithoutDeferred = new WeakMap<readonly ToolSpecification[], readonly ToolSpecification[]>();

/**
 * A fallback may take over a step that was prepared for a model that supports deferred tools. Each list is cached, so that it stays the
 * same array.
 */
function withoutDeferred({ specifications }: Prompt): readonly ToolSpecification[] {
  let shown = listsWithoutDeferred.get(specifications);
  if (shown === undefined) {
    const some = specifications.filter(({ defer }) => defer !== true);
    shown = some.length === specifications.length ? specifications : deepFreeze(some);
    listsWithoutDeferred.set(specifications, shown);
  }
  return shown;
}

/** The prompt of a step of this agent, unless a hook changes it. */
function currentPrompt(context: EffectContext): Prompt {
  const { transcript } = context;
  const systemPrompt = transcript.run?.options.systemPrompt ?? getAgentPrompt(context);
  return { systemPrompt, specifications: listOfferedTools(context) };
}

/** Providers reject a request that forces a tool that it does not offer. */
function isOffered(choice: ToolChoice, tools: readonly ToolSpecification[]): boolean {
  if (typeof choice === "object") return tools.some(({ name, defer }) => name === choice.tool && defer !== true);
  return choice !== "required" || tools.length > 0;
}

type CallIdentity = Pick<EffectOf<"call_model">, "runId" | "modelCallIndex" | "attempt">;

export type RequestMaterial = {
  readonly sessionId: string;
  readonly effect: CallIdentity;
  /** The state that wants the call, and the log up to that state. */
  readonly state: State;
  readonly transcript: Transcript;
  /** The messages of the transcript, or the list that replaces them, converted for the model. */
  readonly messages: readonly Message[];
  /** The prompt and the specifications that the log refers to. */
  readonly texts: Prompt;
};

/**
 * Built only from the log and the texts that it refers to, so a request can be rebuilt from the log (TRC-3).
 *
 * The request is handed out frozen, with its own array of messages, because the transcript grows. The messages themselves are already
 * frozen, so none of them is visited.
 */
export function createRequest({
  sessionId,
  effect,
  state,
  transcript,
  messages,
  texts,
}: RequestMaterial): ModelRequest {
  const { runId, modelCallIndex, attempt } = effect;
  const isSummary = state.status === "model_running" && state.purpose === "summary";
  const runOptions = transcript.run?.options;
  const choices = transcript.run?.choices;
  const activeTools = choices?.activeTools ?? runOptions?.activeTools;
  const providerOptions = choices?.providerOptions ?? runOptions?.providerOptions;
  const toolChoice = choices?.toolChoice ?? resolveToolChoice(runOptions?.toolChoice, modelCallIndex);
  // Tools and the system prompt come first in a provider's cache, so a summary without them would pay for the whole conversation.
  const keepsTools = !isSummary || transcript.run?.summary.keepsTools === true;
  const shape = runOptions?.output === undefined || !keepsTools ? undefined : getOutputRequest(runOptions.output);
  const systemPrompt = withOutputPrompt(texts.systemPrompt, shape);
  const { specifications } = texts;
  const offered =
    activeTools === undefined ? specifications : specifications.filter(({ name }) => activeTools.includes(name));
  const tools = keepsTools ? offered : noTools;
  // Key by key, because each spread in a literal iterates over its keys.
  const request: Mutable<ModelRequest> = { messages: noMessages, tools, sessionId, runId, modelCallIndex, attempt };
  if (systemPrompt !== undefined) request.systemPrompt = systemPrompt;
  if (shape !== undefined && !isSummary) request.responseFormat = shape.responseFormat;
  if (providerOptions !== undefined) request.providerOptions = providerOptions;
  if (transcript.settings !== null) Object.assign(request, transcript.settings);
  if (transcript.promptCache !== null) request.promptCache = transcript.promptCache;
  if (isSummary && mustForbidCalls(transcript.run?.summary, toolChoice)) request.toolChoice = "none";
  else if (toolChoice !== undefined && isOffered(toolChoice, tools)) request.toolChoice = toolChoice;
  freezeMembers(request);
  const sent = isSummary ? [...messages, getSummaryRequest(transcript.run)] : messages;
  if (sent.length <= maxCopied) request.messages = Object.freeze(sent.slice());
  else Object.defineProperty(request, "messages", { get: copyOnRead(sent) });
  return Object.freeze(request);
}

type Mutable<Made> = { -readonly [Key in keyof Made]: Made[Key] };
const noMessages: readonly Message[] = Object.freeze([]);
const noTools: readonly ToolSpecification[] = Object.freeze([]);

/** A longer conversation is copied only when the model reads it: a copy for each step would cost more than the step. */
const maxCopied = 4_000;

/** The current messages of an array that only grows, copied at the first call. */
function copyOnRead(messages: readonly Message[]): () => readonly Message[] {
  const { length } = messages;
  let copy: readonly Message[] | null = null;
  return () => {
    copy ??= Object.freeze(messages.slice(0, length));
    return copy;
  };
}

/** Not every provider has a JSON mode, so the prompt also asks for the schema. */
function withOutputPrompt(prompt: string | undefined, output: OutputRequest | undefined): string | undefined {
  if (output === undefined) return prompt;
  return prompt === undefined ? output.prompt : `${prompt}\n\n${output.prompt}`;
}

/** A choice that forces a call would prevent a summary. */
function mustForbidCalls(summary: RunRecord["summary"] | undefined, choice: ToolChoice | undefined): boolean {
  if (summary === undefined || !summary.keepsTools || summary.forbidsCalls) return true;
  return choice !== undefined && choice !== "auto";
}

/** The message after the conversation that asks for the final summary. */
export function getSummaryRequest(run: RunRecord | null): Message {
  return run?.summary.keepsTools === true ? askWithTools : askWithoutTools;
}

const askWithoutTools: Message = deepFreeze({ role: "user", parts: [{ type: "text", text: finalSummaryPrompt }] });
const askWithTools: Message = deepFreeze({ role: "user", parts: [{ type: "text", text: finalSummaryWithTools }] });
