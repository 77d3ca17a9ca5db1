/**
 * Determines what a step's model call sends in addition to the conversation: the prompt, the tools, and messages that follow the
 * conversation.
 */
import { defaultContextManager } from "../../context/context-manager.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { Message, UserMessage } from "../../core/data/message.js";
import type { HookRecord } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import type { ShownMessages } from "../../core/transcript/message-references.js";
import { nextInput, nextMessages } from "../../core/transcript/next-call.js";
import type { Context, RunData } from "../../ports/context.js";
import type { ToolSpecification } from "../../ports/model.js";
import { createFoundToolsHint } from "../agent/tool-search.js";
import { formatError } from "../lib/error-text.js";
import type { CallSources, EffectContext } from "./effect-context.js";
import { getSources } from "./loaded-sources.js";
import { checkList, pickPaused } from "./message-lists.js";
import { listOfferedTools } from "./offered-tools.js";
import { getAgentPrompt } from "./run-prompt.js";

type StepPreparing = Extract<Preparing, { for: "step" }>;

export type BuiltContext =
  | {
      readonly type: "built";
      readonly systemPrompt: string | undefined;
      readonly specifications: readonly ToolSpecification[];
      readonly append: readonly UserMessage[];
      /** The list that is sent instead of the conversation and the additions; null if there is none. */
      readonly list: readonly Message[] | null;
      /** What the model would be shown without the list; null if there is no list. */
      readonly shown: ShownMessages | null;
      /** One record for each hint that failed. */
      readonly records: readonly HookRecord[];
    }
  | { readonly type: "failed"; readonly message: string };

/**
 * A context manager may be third-party code, so its error is returned and ends the run.
 * @param input the run's input, if a hook changed it
 */
export function buildContext(
  state: StepPreparing,
  context: EffectContext,
  input?: readonly UserMessage[],
): BuiltContext {
  const { agent, transcript } = context;
  const { manager } = agent.context;
  const run = toRunData(state, context);
  const { hints, records } = collectHints(state, run, context);
  // The built-in manager changes nothing. Any other manager gets copies, because the transcript grows.
  const shown =
    manager === defaultContextManager ? null : nextMessages(transcript, state, { input, append: noMessages });
  const newInput = nextInput(transcript, state);
  const own = getAgentPrompt(context);
  try {
    const built = manager.build({
      run,
      ...(own === undefined ? {} : { systemPrompt: own }),
      ...(transcript.run?.options.systemPrompt === undefined
        ? {}
        : { runSystemPrompt: transcript.run.options.systemPrompt }),
      messages:
        shown === null
          ? transcript.messages
          : deepFreeze(shown.messages.slice(0, shown.messages.length - newInput.length)),
      input: deepFreeze(newInput),
      hints,
      appended: deepFreeze(transcript.appended?.messages ?? null),
      tools: listOfferedTools(context),
    });
    const { systemPrompt, tools: specifications } = built;
    if (!specifications.every(({ name }) => agent.tools.has(name)))
      return { type: "failed", message: "it named a tool that the agent does not have" };
    const sources = getSources(state, context);
    const append = pickAdditions(built, sources, state);
    const result = {
      type: "built",
      systemPrompt: appendSources(systemPrompt, sources?.prompt),
      specifications,
      append,
      records,
    } as const;
    if (shown === null || built.messages === undefined) return { shown: null, list: null, ...result };
    return checkContextList(result, built.messages, built.append, shown, state);
  } catch (error) {
    return { type: "failed", message: formatError(error) };
  }
}

const noMessages: readonly UserMessage[] = Object.freeze([]);

/** A provider that paused has not finished its turn, so nothing may come between its messages. */
function pickAdditions(
  { append }: Context,
  sources: CallSources | null,
  { purpose }: StepPreparing,
): readonly UserMessage[] {
  const own = append.length === 0 || purpose === "unpause" ? noMessages : deepFreeze(structuredClone(append));
  return sources === null || sources.note === null ? own : Object.freeze([...own, sources.note.message]);
}

/** The list may contain the manager's own additions, which stand for the copies that the log keeps. */
function checkContextList(
  result: Omit<Extract<BuiltContext, { type: "built" }>, "list" | "shown">,
  messages: readonly Message[],
  managerAdditions: readonly UserMessage[],
  before: ShownMessages,
  state: StepPreparing,
): BuiltContext {
  const { append } = result;
  const copies = new Map<unknown, UserMessage>();
  for (const [index, own] of managerAdditions.entries()) copies.set(own, append[index] ?? own);
  const list = Array.isArray(messages) ? messages.map((message) => copies.get(message) ?? message) : messages;
  const shown = {
    messages: [...before.messages, ...append],
    seqs: [...before.seqs, ...append.map(() => 0)],
  };
  const checked = checkList(list, { known: shown.messages, ...pickPaused(shown, state) });
  if (checked.ok) return { ...result, shown, list: checked.messages };
  return { type: "failed", message: checked.reason };
}

/** Appends the texts of context sources to the manager's system prompt. */
function appendSources(systemPrompt: string | undefined, texts = ""): string | undefined {
  if (texts === "") return systemPrompt;
  return systemPrompt === undefined ? texts : `${systemPrompt}\n\n${texts}`;
}

export function toRunData({ runId, startedAt }: Preparing, { sessionId, agent }: EffectContext): RunData {
  const { root, context } = agent;
  return { sessionId, runId, startedAt, ...(root === undefined ? {} : { root }), data: context.data };
}

/** Only a normal step gets hints; a continued answer and the final summary do not. */
function collectHints({ purpose }: StepPreparing, run: RunData, { agent, transcript }: EffectContext) {
  const hints: { readonly name: string; readonly text: string }[] = [];
  const records: HookRecord[] = [];
  if (purpose !== "step") return { hints, records };
  const toolsHint =
    agent.hasDeferredTools && transcript.compaction !== null ? createFoundToolsHint(transcript.data) : undefined;
  if (toolsHint !== undefined) hints.push(toolsHint);
  const session = Object.freeze({ data: transcript.data });
  for (const { name, text } of agent.context.hints) {
    try {
      const hint = text(run, session);
      if (hint !== undefined) hints.push({ name, text: String(hint) });
    } catch (error) {
      const message = formatError(error);
      records.push({ name: `hint ${name}`, hook: "beforeLLMCall", ms: 0, outcome: "threw", message });
    }
  }
  return { hints, records };
}
