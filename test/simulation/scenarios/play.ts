/**
 * Plays a reference scenario with processes that die at given points, and compares its end with the end without
 * crashes.
 */
import { isDeepStrictEqual } from "node:util";
import { textOf } from "../../../src/core/data/message.js";
import type { Entry } from "../../../src/core/machine/event.js";
import type { RunResult } from "../../../src/core/view/outcome.js";
import type { Model } from "../../../src/ports/model.js";
import type { CanExecuteTool } from "../../../src/ports/permission.js";
import type { Store } from "../../../src/ports/store.js";
import { collectCalls, type PlayedCall } from "../../../src/testing/crash/calls.js";
import { PlayFailure } from "../../../src/testing/crash/failure.js";
import { type CrashScenario, isAroundCommit, playToEnd } from "../../../src/testing/crash/play-scenario.js";
import { createScriptedModel, type ScriptedStep } from "../../../src/testing/scripted-model.js";
import { checkInvariants } from "../../../src/testing/world/invariants.js";
import { formatAttempt } from "../../../src/testing/world/message-parts.js";
import { createSeededRandom } from "../../../src/testing/world/seeded-random.js";
import { createProcessStore } from "../../../src/testing/world/store.js";
import { createProcessClock, createWorld, type Process, type World } from "../../../src/testing/world/world.js";
import { delegate, toTransferName } from "../world/family.js";
import { loadSimulationHistories } from "../world/history.js";
import { simulationInvariants } from "../world/invariants.js";
import { createReader, type ProcessOptions, startProcess } from "../world/processes.js";
import { createSteppedTools, steppedTools } from "../world/stepped-tools.js";
import { createTools, type Ledger, onceOnly } from "../world/tools.js";
import { collectTellings, continueWatch, startWatch, type Watch } from "../world/watches.js";
import type { Scenario } from "./scenarios.js";

export type PlayOptions = {
  readonly store: Store;
  readonly sessionId: string;
  /** The points at which the current process dies, counted through all lives, in order. */
  readonly dies: readonly number[];
  /** Which waits are points: every wait, or those around commits. */
  readonly points: "waits" | "commits";
  /** Whether the next process can see that the last one is dead. If not, it waits for the end of the lease. */
  readonly sameHost: boolean;
};

export type PlayEnding = {
  /** The number of points. */
  readonly points: number;
  /** Status, reason and text of each run. */
  readonly results: readonly string[];
  /** The messages of people in the log. */
  readonly inputs: readonly string[];
  readonly calls: ReadonlyMap<string, PlayedCall>;
};

/** Plays a scenario to its end and checks the invariants. @throws PlayFailure with the trace */
export async function playScenario(scenario: Scenario, options: PlayOptions): Promise<PlayEnding> {
  const world = createWorld(options.store, createSeededRandom(1), options.sessionId);
  try {
    const process = createProcessOptions(world, scenario, options);
    const watches: Watch[] = [];
    const playable = createPlayable(world, scenario, options, { process, watches });
    const { points, result } = await playToEnd(world, playable, options.dies);
    // The play ends with the results: what the watch is still to be told may be under way.
    for (const watch of watches) watch.isOver = true;
    const tellings = await collectTellings(world, watches, createReader(world, process), createSeededRandom(points));
    const clients = { questions: [], readers: [], watches };
    const witnesses = { clients, tellings, isCalm: false, hasGuard: false };
    const histories = await loadSimulationHistories(world, witnesses);
    for (const each of histories) checkInvariants(each, simulationInvariants);
    const [history] = histories;
    if (history === undefined) throw new Error("The play has no session.");
    return {
      points,
      results: result.map(formatResult),
      inputs: collectInputs(history.log),
      calls: collectCalls(history.log, world.facts),
    };
  } catch (cause) {
    const { dies, points } = options;
    const crashes = dies.length === 0 ? "without a crash" : `dies at ${dies.join(" and ")} of its ${points}`;
    const where = `${scenario.name}, ${crashes}`;
    throw new PlayFailure(where, cause, world.facts);
  }
}

function createProcessOptions(world: World, scenario: Scenario, { sameHost }: PlayOptions): ProcessOptions {
  const { depth = 0, hasTwins = false, filter } = scenario;
  const ledger: Ledger = new Map();
  return {
    sameHost,
    depth,
    hasTwins,
    filterOf: () => filter,
    createAgentOptions(self, _level, agent) {
      const bench = { world, ledger, process: self, agent };
      return {
        model: createModel(world, self, scenario, agent),
        tools: [...createTools(bench), ...createSteppedTools(bench)],
        canExecuteTool: createPermissions(world, self),
        limits: { abortGraceMs: 600 },
      };
    },
  };
}

type PlayDeps = { readonly process: ProcessOptions; readonly watches: Watch[] };

/** If the scenario is watched, each life goes on with the watch where the one before was told last. */
function createPlayable(
  world: World,
  { whenStill, attend, isWatched = false }: Scenario,
  { points }: PlayOptions,
  { process: options, watches }: PlayDeps,
): CrashScenario<readonly RunResult[]> {
  const { sessionId } = world;
  return {
    start() {
      const process = startProcess(world, options);
      const attended = attend(process.agent, sessionId);
      const [watch] = watches;
      if (watch !== undefined) continueWatch(watch, process, sessionId);
      else if (isWatched) watches.push(startWatch(process, sessionId));
      return { process, attended };
    },
    isPoint: (turn) => points === "waits" || isAroundCommit(turn),
    lastsOn: ({ operation }) => operation === "slow tool",
    ...(whenStill === undefined
      ? {}
      : {
          whenStill(process: Process) {
            const self = () => process;
            const outside = {
              store: createProcessStore(world, self),
              clock: createProcessClock(world, self),
              makeId: () => `answer${world.nextNumber()}`,
            };
            return whenStill(process.agent, sessionId, outside);
          },
        }),
  };
}

/**
 * Compares an end with the end without crashes. Results, messages and calls must be the same.
 *
 * The outcome of a call may be unknown instead if the call may run only once, or if it failed or was aborted without
 * crashes too. A call that may run only once took effect at most once.
 *
 * @returns the first difference; undefined if there is none
 */
export function findDifference(clean: PlayEnding, ending: PlayEnding): string | undefined {
  if (!isDeepStrictEqual(ending.results, clean.results)) return `the results are ${ending.results.join("; ")}`;
  if (!isDeepStrictEqual(ending.inputs, clean.inputs)) return `the messages in the log are ${ending.inputs}`;
  const calls = [...ending.calls.keys()].sort();
  if (!isDeepStrictEqual(calls, [...clean.calls.keys()].sort())) return `the calls are ${calls}`;
  for (const [callKey, { tool, outcome, acts }] of ending.calls) {
    const expected = clean.calls.get(callKey)?.outcome;
    const canBeInDoubt = onceOnly.has(tool) || expected === "aborted" || expected === "error";
    const isInDoubt = outcome === "interrupted" || outcome === "aborted";
    if (outcome !== expected && !(canBeInDoubt && isInDoubt)) return `${callKey} (${tool}) ended '${outcome}'`;
    if (onceOnly.has(tool) && acts > 1) return `${callKey} (${tool}) took effect ${acts} times`;
    const isUnseen = toolsWithHiddenEffects.has(tool) || tool.startsWith(toTransferName(""));
    if (outcome === "ok" && !isUnseen && acts === 0) return `${callKey} (${tool}) is ok without an effect`;
  }
  return undefined;
}

/** Tools whose effects are elsewhere: in their steps, in another session, outside. */
const toolsWithHiddenEffects: ReadonlySet<string> = new Set([...steppedTools, "holding", delegate, "outside"]);

/** Every tool but `look` waits for a turn, so that a process can die while it is checked. */
function createPermissions(world: World, process: () => Process): CanExecuteTool {
  return async ({ tool }) => {
    if (tool.name === "look") return "allow";
    await world.turn(process(), "policy");
    if (tool.name === "forbidden") return { verdict: "deny", reason: "nobody may" };
    return tool.name === "questioned" ? { verdict: "ask", question: "May it?" } : "allow";
  };
}

function createModel(world: World, process: () => Process, scenario: Scenario, agent: string): Model {
  return createScriptedModel(
    (request) => {
      world.record({
        type: "model_called",
        sessionId: request.sessionId,
        process: process().name,
        agent,
        request: { ...request, messages: [...request.messages] },
      });
      const step = scenario.answer(request, agent);
      world.record({
        type: "model_meant",
        sessionId: request.sessionId,
        attempt: formatAttempt(request),
        parts: toParts(step),
      });
      return { ...step, wait: world.turn(process(), "model") };
    },
    { record: false },
  );
}

function toParts({ text, calls = [] }: ScriptedStep): readonly string[] {
  return [...(text === undefined ? [] : [`text: ${text}`]), ...calls.map((call) => `call: ${call.id} ${call.name}`)];
}

function formatResult(result: RunResult): string {
  return `${result.runId} ${result.status}${"reason" in result ? ` ${result.reason}` : ""}: ${result.text}`;
}

function collectInputs(log: readonly Entry[]): readonly string[] {
  const inputs = log.flatMap(({ event }) =>
    event.type === "run_started" || event.type === "run_queued" || event.type === "steered" ? (event.input ?? []) : [],
  );
  return inputs.map(textOf).sort();
}
