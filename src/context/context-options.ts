/**
 * Checks the agent's `context` options.
 */

import { anyValue, checkOptions, type OptionTable } from "../check-options.js";
import { PawlError } from "../errors.js";
import type { ContextManager, ContextSource, Hint } from "../ports/context.js";
import { defaultContextManager } from "./context-manager.js";

/** Content that a model is sent in addition to the conversation. */
export type ContextOptions = {
  /** Facts by name, sent after the system prompt. They are the same for all calls of a run. */
  readonly data?: { readonly [name: string]: string };
  /** Facts that change. Their text is sent after everything else, each time it has changed. */
  readonly hints?: readonly Hint[];
  /** Outside texts, such as `agentsFile()` and `skills()` of `pawl/tools`. They follow the system prompt. */
  readonly sources?: readonly ContextSource[];
  /** Builds each request. Default: the built-in context manager. */
  readonly manager?: ContextManager;
};

export type CompiledContext = Required<ContextOptions>;

const contextRules: OptionTable<ContextOptions> = {
  data: anyValue,
  hints: anyValue,
  sources: anyValue,
  manager: anyValue,
};

/** @throws PawlError `bad_configuration` */
export function compileContext(options: ContextOptions = {}): CompiledContext {
  checkOptions("context", contextRules, options);
  const { data = {}, hints = [], sources = [], manager = defaultContextManager } = options;
  for (const [name, value] of Object.entries(data))
    if (typeof value !== "string") throw configurationError(`data.${name} is not a string. Give it a string`);
  if (!Array.isArray(hints) || hints.some((hint) => typeof hint?.name !== "string" || typeof hint.text !== "function"))
    throw configurationError("hints is not an array of { name, text }. Give each hint a name and a function text(run)");
  if (!Array.isArray(sources) || !sources.every(isSource))
    throw configurationError(
      "sources is not an array of { name, load }. Pass agentsFile(), skills() or your own source",
    );
  if (new Set(sources.map(({ name }) => name)).size < sources.length)
    throw configurationError("two sources have the same name. Give each its own name");
  if (typeof manager?.build !== "function")
    throw configurationError("manager has no function build(view). Add it, or omit manager");
  // Copied, because hints and context managers receive the data.
  return { data: Object.freeze({ ...data }), hints, sources, manager };
}

function isSource(source: ContextSource): boolean {
  const { name, load, tools = [] } = source ?? {};
  return typeof name === "string" && /^.{1,200}$/u.test(name) && typeof load === "function" && Array.isArray(tools);
}

function configurationError(problem: string): PawlError {
  return new PawlError("bad_configuration", `In the context options, ${problem}.`);
}
