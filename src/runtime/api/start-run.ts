/**
 * Starts a run: creates its message, keeps its local options, and parses its answer for the caller.
 */
import { freeze } from "../../core/data/freeze.js";
import type { RunResult } from "../../core/view/outcome.js";
import { checkGraph } from "../agent/agent-graph.js";
import { checkStartOptions } from "../agent/check-run-options.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { compileLocalOptions } from "../agent/local-run-options.js";
import { type Input, inputBody, type OutputOptions, type StartOptions } from "../agent/run-input.js";
import { withOutput } from "../agent/structured-output.js";
import { runToResult } from "../session/deliver.js";
import { type InterruptedRuns, noteInterrupted } from "../session/interrupted-runs.js";
import type { LocalSession } from "../session/local-session.js";
import type { Subscription } from "../subscribers/subscription.js";

/** Runs a request until it ends or waits. If `output` is given, `result.output` is the parsed answer. */
export type RunMethod = {
  <Output>(input: Input, options: StartOptions & OutputOptions<Output>): Promise<RunResult<Output>>;
  (input: Input, options?: StartOptions): Promise<RunResult>;
};

export type Started = {
  readonly sessionId: string;
  readonly runId: string;
  readonly begin: (subscription?: Subscription) => Promise<RunResult>;
};

/** @throws PawlError `bad_input`, `bad_configuration` */
export function startRun(
  what: "run()" | "runStream()" | "iterate()",
  input: Input,
  options: StartOptions,
  parts: CompiledAgent,
  live: (sessionId: string) => LocalSession,
  interrupted: InterruptedRuns,
): Started {
  checkGraph(parts);
  checkStartOptions(what, options, parts);
  const { signal, sessionId = parts.makeId(), runId = parts.makeId() } = options;
  const body = inputBody(input, options, parts, runId, "queue");
  const locals = compileLocalOptions(options);
  const shared = options.runId !== undefined;
  const begin = (subscription?: Subscription): Promise<RunResult> => {
    const message = { id: `run/${runId}`, at: parts.clock.now(), body };
    const act = async () => {
      const result = await runToResult(live(sessionId), runId, message, {
        shared,
        ...(signal === undefined ? {} : { signal }),
        ...(subscription === undefined ? {} : { subscription }),
      });
      return freeze(noteInterrupted(interrupted, result));
    };
    return locals === undefined ? act() : withOutput(runId, locals, parts, act);
  };
  return { sessionId, runId, begin };
}
