/**
 * What a model is sent: the run's options, or what hooks chose for this step in their place, and the conversation.
 */
import type { Message } from "../../core/message.js";
import { summaryText, type Transcript } from "../../core/transcript.js";
import type { ModelRequest, ToolSpecification } from "../../ports/model.js";
import { type AskedOutput, askedOutput } from "../output.js";
import { andThen } from "../thenable.js";
import type { EffectOf, Work } from "../work.js";

/** The prompt and the specifications are those that the log names; a process that does not know them reads them. */
export function requestOf(effect: EffectOf<"call_model">, work: Work): ModelRequest | Promise<ModelRequest> {
  const { state, parts, transcript, memory } = work;
  const isSummary = state.status === "model_running" && state.purpose === "summary";
  const present = transcript.run?.options.systemPrompt ?? parts.systemPrompt;
  return andThen(memory.texts.promptOf(transcript, present), (systemPrompt) =>
    andThen(memory.texts.toolsOf(transcript, parts.specifications), (specifications) =>
      put(effect, work.sessionId, { transcript, isSummary, systemPrompt, specifications }),
    ),
  );
}

type Material = {
  readonly transcript: Transcript;
  readonly isSummary: boolean;
  readonly systemPrompt: string | undefined;
  readonly specifications: readonly ToolSpecification[];
};

function put(
  { runId, modelCallIndex, attempt }: EffectOf<"call_model">,
  sessionId: string,
  { transcript, isSummary, systemPrompt, specifications }: Material,
): ModelRequest {
  const { activeTools, toolChoice, providerOptions, output } = {
    ...transcript.run?.options,
    ...transcript.run?.choices,
  };
  const place = { sessionId, runId, modelCallIndex, attempt };
  const asked = output === undefined || isSummary ? undefined : askedOutput(output);
  const prompt = promptOf(systemPrompt, asked);
  const said = {
    ...(prompt === undefined ? {} : { systemPrompt: prompt }),
    ...(asked === undefined ? {} : { responseFormat: asked.responseFormat }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
  if (isSummary)
    return { ...place, ...said, messages: [...transcript.messages, summaryRequest], tools: [], toolChoice: "none" };
  const tools =
    activeTools === undefined ? specifications : specifications.filter(({ name }) => activeTools.includes(name));
  const chosen = toolChoice === undefined ? {} : { toolChoice };
  return { ...place, ...said, ...chosen, messages: transcript.messages, tools };
}

/** Not every provider has a JSON mode: the model is told as well. */
function promptOf(prompt: string | undefined, output: AskedOutput | undefined): string | undefined {
  if (output === undefined) return prompt;
  return prompt === undefined ? output.prompt : `${prompt}\n\n${output.prompt}`;
}

/** What stands after the conversation where a model is asked to sum up. */
export const summaryRequest: Message = { role: "user", parts: [{ type: "text", text: summaryText }] };
