/**
 * What an agent's author says of the context of its model calls, checked.
 */

import { PawlError } from "../errors.js";
import type { ContextManager, Hint } from "../ports/context.js";
import { contextManager } from "./manager.js";

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
