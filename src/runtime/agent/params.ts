/**
 * The `params` of a run: plain JSON that its tools, hooks and policies get, checked by a schema of the agent.
 *
 * 1. They are checked where the run is requested, and again where it begins: a sender may have no agent.
 * 2. The log keeps them with the run's options, so every process has them. If the schema changes them, the run's first `prepared` has
 *    what it made of them.
 */
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { InputSchema } from "../../ports/tool.js";
import { type CompiledInput, compileInput, type InputIssue } from "../tools/schema.js";

export type Params = { readonly [name: string]: Json };

export const noParams: Params = Object.freeze({});

/** @throws PawlError `bad_configuration` */
export function compileParams(schema: InputSchema<unknown>): CompiledInput {
  try {
    return compileInput(schema);
  } catch (cause) {
    if (!(cause instanceof PawlError)) throw cause;
    throw new PawlError("bad_configuration", `The option params of createAgent(): ${cause.message}`, { cause });
  }
}

type Checking = { readonly name: string; readonly params: CompiledInput | null };

/**
 * Checks the params of a request, if that takes no waiting. A schema that answers later is asked when the run begins.
 * @throws PawlError `bad_input`
 */
export function checkParams(params: unknown, agent: Checking): void {
  if (agent.params === null) {
    if (params === undefined) return;
    throw new PawlError(
      "bad_input",
      `The agent "${agent.name}" takes no params. Give createAgent() the option params: a schema of an object.`,
    );
  }
  const checked = agent.params.validate((params ?? noParams) as Json);
  if (checked instanceof Promise || checked.ok) return;
  throw new PawlError("bad_input", paramsProblem(agent.name, checked.issues));
}

export function paramsProblem(name: string, issues: readonly InputIssue[]): string {
  const problems = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return `The params of the run do not fit the schema params of the agent "${name}":\n- ${problems.join("\n- ")}`;
}
