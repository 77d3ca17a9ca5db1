/**
 * Starts a run: creates its message, keeps its local options, and parses its answer for the caller.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { SeededHistory } from "../../core/machine/history.js";
import type { RunResult } from "../../core/view/outcome.js";
import { endTail, type Tail } from "../../stream/tail/tail.js";
import { checkGraph } from "../agent/agent-graph.js";
import { checkRunTools, checkStartOptions } from "../agent/check-run-options.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { type CheckedHistory, checkHistory } from "../agent/history.js";
import { hasBlobs, type Input, readBlobs } from "../agent/input-parts.js";
import { compileLocalOptions } from "../agent/local-run-options.js";
import { createInputBody, type OutputOptions, type StartOptions } from "../agent/run-input.js";
import { runWithOutput } from "../agent/structured-output.js";
import { runToResult } from "../session/deliver.js";
import { type InterruptedRuns, recordInterrupted } from "../session/interrupted-runs.js";
import type { LocalSession } from "../session/local-session.js";
import { createStoreFailedResult } from "../subscribers/waiters.js";
import { refuseUnlessNew, seedHistory } from "./seed.js";

/**
 * Runs a request until it ends or waits. If `output` is given, `result.output` is the parsed answer.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 *
 * const result = await agent.run("Sum up report.md.", {
 *   sessionId: "report",
 *   output: z.object({ title: z.string(), points: z.array(z.string()) }),
 *   limits: { maxSteps: 10 },
 * });
 * if (result.status === "completed") console.log(result.output.title);
 * ```
 */
export type RunMethod = {
  <Output>(input: Input, options: StartOptions & OutputOptions<Output>): Promise<RunResult<Output>>;
  (input: Input, options?: StartOptions): Promise<RunResult>;
};

export type StartedRun = {
  readonly sessionId: string;
  readonly runId: string;
  readonly begin: (subscription?: Tail) => Promise<RunResult>;
};

/** @throws PawlError `bad_input`, `bad_configuration` */
export function startRun(
  what: "run()" | "runStream()" | "iterate()",
  input: Input,
  options: StartOptions,
  agent: CompiledAgent,
  getLocalSession: (sessionId: string) => LocalSession,
  interrupted: InterruptedRuns,
): StartedRun {
  checkGraph(agent);
  checkStartOptions(what, options, agent);
  const { signal, sessionId = agent.makeId(), runId = agent.makeId() } = options;
  const toBody = (read: Input) => createInputBody(read, options, agent, runId, "queue");
  // An input without blobs is checked immediately.
  const known = hasBlobs(input) ? undefined : toBody(input);
  const locals = compileLocalOptions(options);
  checkRunTools(locals?.tools, agent);
  const shared = options.runId !== undefined;
  let history = checkRunHistory(options);
  const begin = (subscription?: Tail): Promise<RunResult> => {
    const act = async () => {
      const body = known ?? (await readBlobsOrEnd(input, toBody, subscription));
      const message = { id: `run/${runId}`, at: agent.clock.now(), body };
      if (history !== undefined) {
        const seeded = await seedRunHistory(history, getLocalSession(sessionId), runId, subscription);
        if ("status" in seeded) return deepFreeze(recordInterrupted(interrupted, seeded));
        message.body = { ...body, history: seeded };
        history = undefined;
      }
      const result = await runToResult(getLocalSession(sessionId), runId, message, {
        shared,
        ...(signal === undefined ? {} : { signal }),
        ...(subscription === undefined ? {} : { subscription }),
      });
      return deepFreeze(recordInterrupted(interrupted, result));
    };
    return locals === undefined ? act() : runWithOutput(sessionId, runId, locals, agent, act);
  };
  return { sessionId, runId, begin };
}

/** Reads the blobs of the input. If the run cannot begin, its subscription ends. @throws PawlError `bad_input` */
async function readBlobsOrEnd<Body>(
  input: Input,
  toBody: (read: Input) => Body,
  subscription: Tail | undefined,
): Promise<Body> {
  try {
    return toBody(await readBlobs(input));
  } catch (error) {
    if (subscription !== undefined) endTail(subscription);
    throw error;
  }
}

/** Also undefined for a history without messages. @throws PawlError `bad_input` */
function checkRunHistory(options: StartOptions): CheckedHistory | undefined {
  if (options.history === undefined) return undefined;
  const history = checkHistory(options.history, options);
  return history.messages.length === 0 ? undefined : history;
}

/**
 * The history for the message, or the result of the run if the store fails. If the run cannot begin, its subscription ends.
 * @throws PawlError `bad_input`
 */
async function seedRunHistory(
  history: CheckedHistory,
  session: LocalSession,
  runId: string,
  subscription: Tail | undefined,
): Promise<SeededHistory | RunResult> {
  const { sessionId, agent } = session;
  try {
    await refuseUnlessNew(sessionId, agent.store, runId);
    return await seedHistory(history, session);
  } catch (error) {
    if (subscription !== undefined) endTail(subscription);
    return createStoreFailedResult(sessionId, { runId }, error, false);
  }
}
