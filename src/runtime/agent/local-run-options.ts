/**
 * The run options that a log cannot store. The process that received them keeps them until the run ends.
 */
import type { Json } from "../../core/data/message.js";
import type { SessionBinding, State } from "../../core/machine/state.js";
import type { RecordedCondition } from "../../core/machine/stop-condition.js";
import { PawlError } from "../../errors.js";
import type { StopCondition } from "../../ports/stop-condition.js";
import type { InputSchema } from "../../ports/tool.js";
import type { Tools } from "../tools/compile-tools.js";
import { type CompiledInput, compileInput } from "../tools/schema.js";
import { findSchemaFault } from "../tools/schema-shape.js";
import { compileRunTools, type RunTools } from "./run-tools.js";
import { type CompiledConditions, compileStopWhen } from "./stop-conditions.js";

/** Options that the log cannot store in full. After a restart, pass them to `session.resume` again. */
export type LocalOptions = {
  /**
   * The shape of the answer: a Standard Schema, or a JSON Schema of an object. Pawl parses and validates the answer, and
   * returns it as `result.output`. If another process continues the run, it validates against the JSON Schema only.
   */
  readonly output?: InputSchema<unknown>;
  /**
   * Stops the run between two steps as soon as one of these holds. Replaces the agent's `stopWhen`. The log stores only the names of
   * functions: a process that continues the run without them uses its agent's conditions.
   */
  readonly stopWhen?: StopCondition | readonly StopCondition[];
  /**
   * Tools for this run only, in addition to the agent's. The log stores their names, and their schemas like those of the agent's tools. A
   * process that continues the run without them does not offer them, and ends their calls with an error. They change the beginning of the
   * requests, so a provider's cache of the session's earlier requests is not read.
   */
  readonly tools?: Tools;
  /** Replaces members of the agent's `deps` for this run, in this process. For tests. */
  readonly dependencyOverrides?: { readonly [name: string]: unknown };
};

/**
 * How to resume a session.
 *
 * @example
 * ```ts
 * // In a new process, after the one that drove the run has died:
 * const result = await agent.session("march").resume();
 * if (result.status === "awaiting_human") console.log(result.approvals);
 * ```
 */
export type ResumeOptions = LocalOptions & {
  /**
   * What to do if another process is running the session. True (the default): wait for its result, and take over if it dies. False: throw
   * `session_busy`.
   */
  readonly follow?: boolean;
  /** Called when this process has claimed the session, before it does anything else. */
  readonly onTaken?: () => void;
  /**
   * Called before `resume` resolves, if this process released the session together with the result and no further run is queued. There is
   * then nothing left to resume, and no need to query the store.
   */
  readonly onLeft?: () => void;
  /** A snapshot that the caller has just read, to save a read before the claim. Default: the session is read. */
  readonly seen?: SessionLook;
};

/** A snapshot of a session. Read the inbox before the state, because a commit removes messages from the inbox. */
export type SessionLook = {
  readonly state: State;
  /** Whether the inbox has messages. */
  readonly isPosted: boolean;
  /** The session's binding, or the one that its first request asks for. Null if the session does not exist. */
  readonly binding: SessionBinding | null;
  /** The unfinished runs: the current run, those in the queue, and those that messages in the inbox request. */
  readonly openRunIds: readonly string[];
};

export type LocalRunState = {
  /** Returns the `deps` that replace an agent's `deps`: the same object for the same argument. */
  readonly deps?: (own: unknown) => unknown;
  /** The schema of the answer, including checks that JSON Schema cannot express. */
  readonly output?: CompiledInput;
  /** Present if any of the run's conditions is a function. */
  readonly stopWhen?: CompiledConditions;
  /** The tools that only this run has. */
  readonly tools?: RunTools;
};

/** The local state of one agent's runs, by `createLocalKey`: two sessions may have runs with the same id. */
export type LocalRunStates = Map<string, LocalRunState>;

export function createLocalKey(sessionId: string, runId: string): string {
  return JSON.stringify([sessionId, runId]);
}

/** Fast in the common case: most agents have no runs with local options. */
export function findLocals(all: LocalRunStates, sessionId: string, runId: string): LocalRunState | undefined {
  return all.size === 0 ? undefined : all.get(createLocalKey(sessionId, runId));
}

/** Drops a run's local state when the run has ended. */
export function forgetLocals(all: LocalRunStates, sessionId: string, runId: string): void {
  if (all.size > 0) all.delete(createLocalKey(sessionId, runId));
}

/** @throws PawlError `bad_configuration` for a schema that cannot be used */
export function compileLocalOptions({
  output,
  stopWhen,
  tools,
  dependencyOverrides,
}: LocalOptions): LocalRunState | undefined {
  const own = tools === undefined ? undefined : compileRunTools(tools);
  const conditions = stopWhen === undefined ? undefined : findFunctionConditions(stopWhen);
  const isNone = output === undefined && conditions === undefined && own === undefined;
  if (isNone && dependencyOverrides === undefined) return undefined;
  return {
    ...(own === undefined ? {} : { tools: own }),
    ...(conditions === undefined ? {} : { stopWhen: conditions }),
    ...(output === undefined ? {} : { output: compileOutput(output) }),
    ...(dependencyOverrides === undefined ? {} : { deps: createOverride(dependencyOverrides) }),
  };
}

/** The conditions, if one of them is a function. Otherwise the log has all of them. */
function findFunctionConditions(stopWhen: NonNullable<LocalOptions["stopWhen"]>): CompiledConditions | undefined {
  const conditions = compileStopWhen(stopWhen, "stopWhen", "bad_input");
  return conditions.some(({ type }) => type === "function") ? conditions : undefined;
}

/** The stop conditions as the log stores them. */
export function toRecordedConditions({ stopWhen }: LocalOptions): readonly RecordedCondition[] | undefined {
  if (stopWhen === undefined) return undefined;
  return compileStopWhen(stopWhen, "stopWhen", "bad_input").map(({ recorded }) => recorded);
}

/** The `context.deps` of tools in this run (TOOL-8). */
export function resolveDeps(
  { locals, deps }: { readonly locals: LocalRunStates; readonly deps: unknown },
  sessionId: string,
  runId: string,
): unknown {
  const override = findLocals(locals, sessionId, runId)?.deps;
  return override === undefined ? deps : override(deps);
}

/** The schema that the log stores and that a model sees. */
export function toOutputSchema({ output }: LocalOptions): { readonly [key: string]: Json } | undefined {
  return output === undefined ? undefined : compileOutput(output).jsonSchema;
}

/** @throws PawlError `bad_configuration` for a schema that cannot be used */
export function compileOutput(output: InputSchema<unknown>, what = "The option output of a run"): CompiledInput {
  try {
    const compiled = compileInput(output);
    const fault = findSchemaFault(compiled.jsonSchema);
    if (fault !== null) throw new PawlError("bad_configuration", `its JSON Schema is not supported: ${fault}`);
    return compiled;
  } catch (cause) {
    if (!(cause instanceof PawlError)) throw cause;
    throw new PawlError("bad_configuration", `${what}: ${cause.message}`, { cause });
  }
}

/** Replaces the named dependencies and keeps the others. Cached by `deps`, because a run with handoffs has several agents. */
function createOverride(overrides: { readonly [name: string]: unknown }): (own: unknown) => unknown {
  const known = new Map<unknown, unknown>();
  return (own) => {
    const changed = known.get(own) ?? (typeof own === "object" && own !== null ? { ...own, ...overrides } : overrides);
    known.set(own, changed);
    return changed;
  };
}
