/**
 * Answers the tool calls of a trial from the record, so that nothing outside happens.
 *
 * 1. A call gets the result of a recorded call of the same agent and tool with the same input. Both inputs are read by the tool's
 *    present schema: a new default and the order of keys make no difference.
 * 2. The second call with the same input gets the second such result, and so on; the last one is repeated.
 * 3. A call that is not in the record never runs by itself. It ends the trial, unless the eval says what such a call gets.
 */
import type { Json, ToolOutput } from "../core/data/message.js";
import type { AnyTool, RunTool, ToolRun } from "../ports/tool.js";
import { FinalToolError } from "../runtime/tools/final-error.js";
import { compileInput } from "../runtime/tools/schema.js";
import type { RecordedCall } from "./case.js";
import { toKey } from "./read-record.js";
import type { Ask, Departure, ResultCounts } from "./trial.js";

/** Runs a call in place of its tool. What it returns is the result; what it throws is the tool's error. */
export type Simulation = (input: never, call: SimulatedCall) => unknown;

/** A call that a function answers. */
export type SimulatedCall = ToolRun & {
  /** The calls of this tool by this agent in the record. */
  readonly recorded: readonly RecordedCall[];
  /** Runs the tool itself. */
  readonly own: () => unknown;
  /** Asks an agent; null if it gave no answer. The trial then counts as one in which a model made results up. */
  readonly ask: Ask;
};

/** What answers the calls of a tool: the record, the tool itself, or a function. */
export type ToolAnswer = "recorded" | "real" | Simulation;

/**
 * What a call gets that is not in the record. `stop`: the trial ends there. `error`: the model is told that there is no
 * result. `run`: the tool itself runs if it is `readOnly`; otherwise the trial ends. Or a function.
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
  readonly ask: Ask;
  /** Called with each call that is not in the record; `isEnd` if the trial ends there. */
  readonly onDeparture: (departure: Departure, isEnd: boolean) => void;
};

export function createRecordedTools({
  calls,
  tools,
  unrecorded,
  ask,
  onDeparture,
}: RecordedToolsOptions): RecordedTools {
  const used = new Map<string, number>();
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
    const equal: RecordedCall[] = [];
    for (const call of findCalls(run)) if ((await readInput(run.tool, call.input)) === wanted) equal.push(call);
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
    const isEnd = unrecorded === "stop" || (unrecorded === "run" && tool.readOnly !== true);
    const nearest = findCalls(run).find((call) => !used.has(`${agent}/${tool.name}/${toKey(call.input)}`));
    const departure = { agent, tool: tool.name, input: toJson(input), missing: "result" } as const;
    onDeparture(nearest === undefined ? departure : { ...departure, nearest: nearest.input }, isEnd);
    if (isEnd) return untilAborted(run.context.signal);
    if (typeof unrecorded === "function") return simulate(unrecorded, run, own);
    if (unrecorded === "run") return runReal(own);
    throw new FinalToolError("There is no recorded result of this call.");
  }

  return { runTool, counts };
}

/** Never settles before the abort: the model is not asked about a world in which the call ended in some way. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new FinalToolError("The trial ended at a call that is not in the record."));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** The input as the tool's present schema reads it. */
async function readInput(tool: AnyTool, input: Json): Promise<string> {
  const read = await compileInput(tool.input).validate(input);
  return toKey(read.ok ? read.value : input);
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

/** Does what the call did: changes the session's data, and returns its result or throws its error. */
function repeatCall({ output, isError, data }: RecordedCall, { context }: ToolRun): ToolOutput {
  for (const [key, value] of Object.entries(data?.set ?? {})) context.data.set(key, value);
  for (const key of data?.unset ?? []) context.data.delete(key);
  if (isError !== true) return output;
  const text = output.type === "text" ? output.text : JSON.stringify(output.type === "json" ? output.value : output);
  throw new FinalToolError(text.replace(/^Error: /, ""));
}
