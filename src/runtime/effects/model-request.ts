/**
 * What a model is sent: the run's options, or what hooks chose for this step in their place, and the conversation.
 */
import type { Message } from "../../core/data/message.js";
import type { State } from "../../core/machine/state.js";
import { toolChoiceAt } from "../../core/machine/tool-choice.js";
import { finalSummaryPrompt } from "../../core/transcript/loop-prompts.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { ModelRequest } from "../../ports/model.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { type AskedOutput, askedOutput } from "../agent/structured-output.js";
import { andThen } from "../lib/maybe-promise.js";
import { modelOf } from "../model/models.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { findPrompt, type Prompt } from "../work/prompt-blobs.js";
import { requestMessages } from "../work/request-messages.js";

export type MadeRequest =
  | { readonly type: "request"; readonly request: ModelRequest }
  | { readonly type: "missing"; readonly message: string };

/** The prompt and the specifications are those that the log names; a process that does not know them reads them. */
export function requestOf(effect: EffectOf<"call_model">, work: EffectContext): MadeRequest | Promise<MadeRequest> {
  const { state, parts, transcript, memory, sessionId } = work;
  const { model } = modelOf(parts.models, state);
  return andThen(findPrompt(memory.texts, transcript, presentTexts(parts, transcript)), (found) => {
    if (found.type === "missing") return found;
    return andThen(
      requestMessages(transcript, model, { sessionId, store: parts.store }),
      (messages): MadeRequest => ({
        type: "request",
        request: requestFrom({ sessionId, effect, state, transcript, messages, texts: found }),
      }),
    );
  });
}

/** What would be named for a step of this agent that no hook changes. */
export function presentTexts({ systemPrompt, specifications }: CompiledAgent, { run }: Transcript): Prompt {
  return { systemPrompt: run?.options.systemPrompt ?? systemPrompt, specifications };
}

export type RequestMaterial = {
  readonly sessionId: string;
  readonly effect: Pick<EffectOf<"call_model">, "runId" | "modelCallIndex" | "attempt">;
  /** The state that wants the call, and the log up to there. */
  readonly state: State;
  readonly transcript: Transcript;
  /** Its messages, as the model can take them. */
  readonly messages: readonly Message[];
  readonly texts: Prompt;
};

/** Nothing but the log and the texts that it names is looked at: so a request can be made again (TRC-3). */
export function requestFrom({ sessionId, effect, state, transcript, messages, texts }: RequestMaterial): ModelRequest {
  const { runId, modelCallIndex, attempt } = effect;
  const isSummary = state.status === "model_running" && state.purpose === "summary";
  const options = transcript.run?.options;
  const choices = transcript.run?.choices;
  const { activeTools, providerOptions, output } = { ...options, ...choices };
  const toolChoice = choices?.toolChoice ?? toolChoiceAt(options?.toolChoice, modelCallIndex);
  const place = { sessionId, runId, modelCallIndex, attempt };
  const asked = output === undefined || isSummary ? undefined : askedOutput(output);
  const prompt = promptOf(texts.systemPrompt, asked);
  const said = {
    ...(prompt === undefined ? {} : { systemPrompt: prompt }),
    ...(asked === undefined ? {} : { responseFormat: asked.responseFormat }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
  if (isSummary) return { messages: [...messages, summaryRequest], tools: [], toolChoice: "none", ...place, ...said };
  const { specifications } = texts;
  const tools =
    activeTools === undefined ? specifications : specifications.filter(({ name }) => activeTools.includes(name));
  const chosen = toolChoice === undefined ? {} : { toolChoice };
  // Adding keys to a copy is twenty times slower than copying into what has them.
  return { messages, tools, ...place, ...said, ...chosen };
}

/** Not every provider has a JSON mode: the model is told as well. */
function promptOf(prompt: string | undefined, output: AskedOutput | undefined): string | undefined {
  if (output === undefined) return prompt;
  return prompt === undefined ? output.prompt : `${prompt}\n\n${output.prompt}`;
}

/** What stands after the conversation where a model is asked to sum up. */
export const summaryRequest: Message = { role: "user", parts: [{ type: "text", text: finalSummaryPrompt }] };
