/**
 * What a run was given that no log can keep: known to the process that was given it, until the run ends.
 */
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { InputSchema } from "../../ports/tool.js";
import { type CompiledInput, compileInput } from "../tools/schema.js";

/** What a run is given that is not all in the log: after a restart, `session.resume` may be given it again. */
export type LocalOptions = {
  /**
   * The shape of the answer: a Standard Schema, or a JSON Schema of an object. The answer is parsed, checked, and `result.output`.
   * Another process that carries the run on checks it by its JSON Schema.
   */
  readonly output?: InputSchema<unknown>;
  /** Replaces these of the agent's `deps` for this run, in this process: for tests. */
  readonly dependencyOverrides?: { readonly [name: string]: unknown };
};

export type LocalRunState = {
  /** In the place of the agent's `deps`. */
  readonly deps?: { readonly value: unknown };
  /** The schema of the answer, with the checks that JSON Schema has no words for. */
  readonly output?: CompiledInput;
};

/** The locals of the runs of one agent, by run. */
export type LocalRunStates = Map<string, LocalRunState>;

/** @throws PawlError `bad_configuration`: a schema or overrides that cannot be used */
export function compileLocalOptions(
  { output, dependencyOverrides }: LocalOptions,
  deps: unknown,
): LocalRunState | undefined {
  if (output === undefined && dependencyOverrides === undefined) return undefined;
  return {
    ...(output === undefined ? {} : { output: compileOutput(output) }),
    ...(dependencyOverrides === undefined ? {} : { deps: { value: overridden(deps, dependencyOverrides) } }),
  };
}

/** What tools get as `context.deps` in this run (TOOL-8). */
export function depsOf(
  { locals, deps }: { readonly locals: LocalRunStates; readonly deps: unknown },
  runId: string,
): unknown {
  const own = locals.get(runId)?.deps;
  return own === undefined ? deps : own.value;
}

/** The schema as the log keeps it, and as a model is told it. */
export function outputSchemaOf({ output }: LocalOptions): { readonly [key: string]: Json } | undefined {
  return output === undefined ? undefined : compileOutput(output).jsonSchema;
}

function compileOutput(output: NonNullable<LocalOptions["output"]>): CompiledInput {
  try {
    return compileInput(output);
  } catch (cause) {
    if (!(cause instanceof PawlError)) throw cause;
    throw new PawlError("bad_configuration", `The output of a run: ${cause.message}`, { cause });
  }
}

/** Names that are overridden; the others stay. */
function overridden(deps: unknown, overrides: { readonly [name: string]: unknown }): unknown {
  return typeof deps === "object" && deps !== null ? { ...deps, ...overrides } : overrides;
}
