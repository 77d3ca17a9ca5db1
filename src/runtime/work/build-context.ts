/**
 * What a step's model call sends beside the conversation: the prompt, the tools, and messages that follow the conversation.
 */
import { contextManager } from "../../context/manager.js";
import { freeze } from "../../core/data/freeze.js";
import type { UserMessage } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import type { RunData } from "../../ports/context.js";
import type { ToolSpecification } from "../../ports/model.js";
import { textOfError } from "../lib/error-text.js";
import type { EffectContext } from "./effect-context.js";
import type { LoadedSources } from "./loaded-sources.js";
import { offeredSpecifications } from "./offered-tools.js";

export type BuiltContext =
  | {
      readonly type: "built";
      readonly systemPrompt: string | undefined;
      readonly specifications: readonly ToolSpecification[];
      readonly append: readonly UserMessage[];
      /** One for each hint that failed. */
      readonly records: readonly HookRecord[];
    }
  | { readonly type: "failed"; readonly message: string };

const noInput: readonly UserMessage[] = Object.freeze([]);

/** A context manager may be anybody's code: an error of it is returned, and ends the run. */
export function buildContext(
  state: Extract<Preparing, { for: "step" }>,
  context: EffectContext,
  sources: LoadedSources | null,
): BuiltContext {
  const { parts, transcript } = context;
  const { manager } = parts.context;
  const run = runDataOf(state, context);
  const { hints, records } = hintsOf(state, run, context);
  try {
    const { systemPrompt, tools, append } = manager.build({
      run,
      ...(parts.systemPrompt === undefined ? {} : { systemPrompt: parts.systemPrompt }),
      ...(transcript.run?.options.systemPrompt === undefined
        ? {}
        : { runSystemPrompt: transcript.run.options.systemPrompt }),
      // The built-in manager changes nothing. Another one gets a copy, because the transcript grows.
      messages: manager === contextManager ? transcript.messages : Object.freeze(transcript.messages.slice()),
      input: transcript.later.length === 0 ? noInput : freeze(transcript.later.map(({ message }) => message)),
      hints,
      appended: freeze(transcript.appended?.messages ?? null),
      tools: offeredSpecifications(context),
    });
    const specifications = tools.every(({ name }) => parts.tools.has(name)) ? tools : null;
    if (specifications === null) return { type: "failed", message: "it named a tool that the agent does not have" };
    return {
      type: "built",
      systemPrompt: sources === null ? systemPrompt : withSources(systemPrompt, sources.prompt),
      specifications,
      append: append.length === 0 ? append : structuredClone(append),
      records,
    };
  } catch (error) {
    return { type: "failed", message: textOfError(error) };
  }
}

function withSources(systemPrompt: string | undefined, texts: string): string | undefined {
  if (texts === "") return systemPrompt;
  return systemPrompt === undefined ? texts : `${systemPrompt}\n\n${texts}`;
}

export function runDataOf({ runId, startedAt }: Preparing, { sessionId, parts }: EffectContext): RunData {
  const { root, context } = parts;
  return { sessionId, runId, startedAt, ...(root === undefined ? {} : { root }), data: context.data };
}

/** Only a step gets hints: an answer that goes on, and the final summary, do not. */
function hintsOf({ purpose }: Extract<Preparing, { for: "step" }>, run: RunData, { parts }: EffectContext) {
  const hints: { readonly name: string; readonly text: string }[] = [];
  const records: HookRecord[] = [];
  if (purpose !== "step") return { hints, records };
  for (const { name, text } of parts.context.hints) {
    try {
      const hint = text(run);
      if (hint !== undefined) hints.push({ name, text: String(hint) });
    } catch (error) {
      const message = textOfError(error);
      records.push({ name: `hint ${name}`, hook: "beforeLLMCall", ms: 0, outcome: "threw", message });
    }
  }
  return { hints, records };
}
