/**
 * The `params` of a run: plain JSON for its tools, hooks and policies, validated by the agent's schema.
 *
 * 1. They are validated where the run is requested, and again where it begins, because a client may not have the agent.
 * 2. The log stores them with the run's options, so every process has them. If the schema changes them, the run's first `prepared` event
 *    stores the result.
 */
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { InputSchema } from "../../ports/tool.js";
import { type CompiledInput, compileInput, type InputIssue } from "../tools/schema.js";

/** The params of a run: a plain JSON object. */
export type RunParams = { readonly [name: string]: Json };

export const noParams: RunParams = Object.freeze({});

/** @throws PawlError `bad_configuration` */
export function compileParams(schema: InputSchema<unknown>): CompiledInput {
  try {
    return compileInput(schema);
  } catch (cause) {
    if (!(cause instanceof PawlError)) throw cause;
    throw new PawlError("bad_configuration", `The option params of createAgent(): ${cause.message}`, { cause });
  }
}

type ParamsAgent = { readonly name: string; readonly params: CompiledInput | null };

/**
 * Validates the params of a request. An asynchronous schema validates them when the run begins.
 * @throws PawlError `bad_input`
 */
export function checkParams(params: unknown, agent: ParamsAgent): void {
  if (agent.params === null) {
    if (params === undefined) return;
    throw new PawlError(
      "bad_input",
      `The agent "${agent.name}" does not accept params. To accept them, pass createAgent() the option params, an object schema.`,
    );
  }
  const checked = agent.params.validate((params ?? noParams) as Json);
  if (checked instanceof Promise || checked.ok) return;
  throw new PawlError("bad_input", formatParamsProblem(agent.name, checked.issues));
}

export function formatParamsProblem(name: string, issues: readonly InputIssue[]): string {
  const problems = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return `The params of the run do not match the params schema of the agent "${name}":\n- ${problems.join("\n- ")}`;
}
