/**
 * Answers the tool calls of a trial from the record, so that the trial has no outside effects.
 *
 * 1. A call gets the result of a recorded call of the same agent and tool with the same input. Both inputs are parsed with the
 *    tool's current schema, so new defaults and the order of keys make no difference.
 * 2. The second call with the same input gets the second such result, and so on; the last result is repeated.
 * 3. A call that is not in the record never runs by default. It ends the trial, unless the eval says how to answer it.
 */
import type { Json, ToolOutput } from "../core/data/message.js";
import type { AnyTool, RunTool, ToolRun } from "../ports/tool.js";
import { FinalToolError } from "../runtime/tools/final-error.js";
import { compileInput } from "../runtime/tools/schema.js";
import type { RecordedCall } from "./case.js";
import { toKey } from "./read-record.js";
import type { AskModel, Departure, ResultCounts } from "./trial.js";

/** Answers a call instead of the tool. It returns the result, or throws the tool's error. */
export type Simulation = (input: never, call: SimulatedCall) => unknown;

/** A call that a function answers. */
export type SimulatedCall = ToolRun & {
  /** The recorded calls of this tool by this agent. */
  readonly recorded: readonly RecordedCall[];
  /** Runs the tool itself. */
  readonly own: () => unknown;
  /** Asks an agent. The trial is then marked as simulated. @throws Error if the agent gives no answer */
  readonly ask: AskModel;
};

/** The source of a tool's results: the record, the tool itself, or a function. */
export type ToolAnswer = "recorded" | "real" | Simulation;

/**
 * How to answer a call that is not in the record. `stop` ends the trial at this call. `error` reports to the model that there is no
 * result. `run` runs the tool if it is `readOnly`, and otherwise ends the trial. A function returns the result.
 */
export type Unrecorded = "stop" | "error" | "run" | Simulation;

export type RecordedTools = {
  readonly runTool: RunTool;
  readonly counts: ResultCounts;
};

type RecordedToolsOptions = {
  readonly calls: readonly RecordedCall[];
  readonly tools: { readonly [tool: string]: ToolAnswer };
  readonly unrecorded: Unrecorded;
  readonly ask: AskModel;
  /** Called for each call that is not in the record. `endsTrial`: the trial ends at this call. */
  readonly onDeparture: (departure: Departure, endsTrial: boolean) => void;
};

export function createRecordedTools({
  calls,
  tools,
  unrecorded,
  ask,
  onDeparture,
}: RecordedToolsOptions): RecordedTools {
  const used = new Map<string, number>();
  const readers = new Map<AnyTool, InputReader>();
  const counts = { recorded: 0, simulated: 0, real: 0, unrecorded: 0 };

  function simulate(simulation: Simulation, run: ToolRun, own: () => unknown): unknown {
    counts.simulated += 1;
    const simulated = simulation as (input: unknown, call: SimulatedCall) => unknown;
    return simulated(run.input, { ...run, recorded: findCalls(run), own, ask });
  }

  function runReal(own: () => unknown): unknown {
    counts.real += 1;
    return own();
  }

  const findCalls = ({ agent, tool }: ToolRun) =>
    calls.filter((call) => call.agent === agent && call.tool === tool.name);

  async function findRecorded(run: ToolRun): Promise<RecordedCall | undefined> {
    const wanted = toKey(run.input);
    const readInput = readers.get(run.tool) ?? createInputReader(run.tool);
    readers.set(run.tool, readInput);
    const equal: RecordedCall[] = [];
    for (const call of findCalls(run)) if ((await readInput(call)) === wanted) equal.push(call);
    const key = `${run.agent}/${run.tool.name}/${wanted}`;
    const count = used.get(key) ?? 0;
    used.set(key, count + 1);
    return equal[Math.min(count, equal.length - 1)];
  }

  async function runTool(run: ToolRun, own: () => unknown): Promise<unknown> {
    const { agent, tool, input } = run;
    const answer = tools[tool.name] ?? "recorded";
    if (answer === "real") return runReal(own);
    if (typeof answer === "function") return simulate(answer, run, own);
    const found = await findRecorded(run);
    if (found !== undefined) {
      counts.recorded += 1;
      return repeatCall(found, run);
    }
    counts.unrecorded += 1;
    const endsTrial = unrecorded === "stop" || (unrecorded === "run" && tool.readOnly !== true);
    const nearest = findCalls(run).find((call) => !used.has(`${agent}/${tool.name}/${toKey(call.input)}`));
    const departure = { agent, tool: tool.name, input: toJson(input), missing: "result" } as const;
    onDeparture(nearest === undefined ? departure : { ...departure, nearest: nearest.input }, endsTrial);
    if (endsTrial) return waitForEndOfTrial(run.context.signal);
    if (typeof unrecorded === "function") return simulate(unrecorded, run, own);
    if (unrecorded === "run") return runReal(own);
    throw new FinalToolError("There is no recorded result for this call.");
  }

  return { runTool, counts };
}

/** Settles only on abort, so that the model is never asked about a made-up outcome of the call. */
function waitForEndOfTrial(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new FinalToolError("The trial ended at a call that is not in the record."));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** Returns a key of a call's input, as parsed with the tool's current schema. */
type InputReader = (call: RecordedCall) => Promise<string>;

/** Compiles the schema once, and parses each recorded input once. */
function createInputReader(tool: AnyTool): InputReader {
  const { validate } = compileInput(tool.input);
  const keys = new Map<RecordedCall, string>();
  return async (call) => {
    const known = keys.get(call);
    if (known !== undefined) return known;
    const read = await validate(call.input);
    const key = toKey(read.ok ? read.value : call.input);
    keys.set(call, key);
    return key;
  };
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

/** Repeats the recorded effect: changes the session's data, and returns the result or throws the error. */
function repeatCall({ output, isError, data }: RecordedCall, { context }: ToolRun): ToolOutput {
  for (const [key, value] of Object.entries(data?.set ?? {})) context.data.set(key, value);
  for (const key of data?.unset ?? []) context.data.delete(key);
  if (isError !== true) return output;
  const text = output.type === "text" ? output.text : JSON.stringify(output.type === "json" ? output.value : output);
  throw new FinalToolError(text.replace(/^Error: /, ""));
}
