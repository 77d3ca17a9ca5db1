/**
 * The context of a model call: what the context manager makes of the conversation, the hints and the data of the run.
 */
import { contextManager } from "../context/manager.js";
import type { HookRecord } from "../core/event.js";
import type { UserMessage } from "../core/message.js";
import type { Preparing } from "../core/state.js";
import { PawlError } from "../errors.js";
import type { ContextManager, Hint, RunData } from "../ports/context.js";
import type { ToolSpecification } from "../ports/model.js";
import { textOfError } from "./error-text.js";
import type { Work } from "./work.js";

export type ContextOptions = {
  /** Told to the model after the system prompt; stays the same for all calls. */
  readonly data?: { readonly [name: string]: string };
  /** Told to the model after everything else, each time that they say something new. */
  readonly hints?: readonly Hint[];
  /** Instead of the built-in one. */
  readonly manager?: ContextManager;
};

export type CompiledContext = Required<ContextOptions>;

/** @throws PawlError `bad_configuration` */
export function compileContext({
  data = {},
  hints = [],
  manager = contextManager,
}: ContextOptions = {}): CompiledContext {
  for (const [name, value] of Object.entries(data))
    if (typeof value !== "string") throw misconfigured(`data.${name} is no text`);
  if (!Array.isArray(hints) || hints.some((hint) => typeof hint?.name !== "string" || typeof hint.text !== "function"))
    throw misconfigured("hints are no array of { name, text }, where text is a function");
  if (typeof manager?.build !== "function") throw misconfigured("the manager has no function build(view)");
  return { data, hints, manager };
}

function misconfigured(what: string): PawlError {
  return new PawlError("bad_configuration", `In the options of context, ${what}.`);
}

export type BuiltContext =
  | {
      readonly type: "built";
      readonly systemPrompt: string | undefined;
      readonly specifications: readonly ToolSpecification[];
      readonly append: readonly UserMessage[];
      /** Hints that failed. */
      readonly records: readonly HookRecord[];
    }
  | { readonly type: "failed"; readonly message: string };

/** What is sent beside the conversation. A manager may be anybody's code: what it throws ends the run, and is told. */
export function buildContext(state: Extract<Preparing, { for: "step" }>, work: Work): BuiltContext {
  const { parts, transcript } = work;
  const { manager } = parts.context;
  const run = runDataOf(state, work);
  const { hints, records } = hintsOf(state, run, work);
  try {
    const { systemPrompt, tools, append } = manager.build({
      run,
      ...(parts.systemPrompt === undefined ? {} : { systemPrompt: parts.systemPrompt }),
      ...(transcript.run?.options.systemPrompt === undefined
        ? {}
        : { runSystemPrompt: transcript.run.options.systemPrompt }),
      messages: transcript.messages,
      input: transcript.later.map(({ message }) => message),
      hints,
      appended: transcript.appended?.messages ?? null,
      tools: parts.specifications,
    });
    const specifications = tools.every(({ name }) => parts.tools.has(name)) ? tools : null;
    if (specifications === null) return { type: "failed", message: "it named a tool that the agent does not have" };
    return { type: "built", systemPrompt, specifications, append: structuredClone(append), records };
  } catch (error) {
    return { type: "failed", message: textOfError(error) };
  }
}

function runDataOf({ runId, startedAt }: Preparing, { sessionId, parts }: Work): RunData {
  const { root, context } = parts;
  return { sessionId, runId, startedAt, ...(root === undefined ? {} : { root }), data: context.data };
}

/** A step alone is told of how things stand: not an answer that goes on, nor a summary. */
function hintsOf({ purpose }: Extract<Preparing, { for: "step" }>, run: RunData, { parts }: Work) {
  const hints: { readonly name: string; readonly text: string }[] = [];
  const records: HookRecord[] = [];
  if (purpose !== "step") return { hints, records };
  for (const { name, text } of parts.context.hints) {
    try {
      const said = text(run);
      if (said !== undefined) hints.push({ name, text: String(said) });
    } catch (error) {
      const message = textOfError(error);
      records.push({ name: `hint ${name}`, hook: "beforeLLMCall", ms: 0, outcome: "threw", message });
    }
  }
  return { hints, records };
}
