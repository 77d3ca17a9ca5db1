/**
 * A reference scenario, with processes that die at given points.
 */
import { type Entry, type RunResult, textOf, toolCallsOf } from "../../src/core/index.js";
import type { Store } from "../../src/index.js";
import type { Model } from "../../src/ports/model.js";
import type { CanExecuteTool } from "../../src/ports/tool.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createChance } from "../../src/testing/simulation/chance.js";
import { traceOf } from "../../src/testing/simulation/facts.js";
import { historyOf } from "../../src/testing/simulation/history.js";
import { checkInvariants } from "../../src/testing/simulation/invariants.js";
import { attemptOf } from "../../src/testing/simulation/parts.js";
import { startProcess } from "../../src/testing/simulation/processes.js";
import { createTools, type Ledger } from "../../src/testing/simulation/tools.js";
import {
  createWorld,
  kill,
  type Process,
  ready,
  type Turn,
  take,
  type World,
} from "../../src/testing/simulation/world.js";
import type { Scenario } from "./reference.js";

export type PlayOptions = {
  readonly store: Store;
  readonly sessionId: string;
  /** The points at which the process dies that is at work, counted through all lives, in order. */
  readonly dies: readonly number[];
  /** Whether a wait is a point: every one, or those around commits. */
  readonly points: "waits" | "commits";
  /** Whether the next process can see that the one before it is dead; it waits for the end of its lease otherwise. */
  readonly sameHost: boolean;
};

export type Ending = {
  /** Points that there were. */
  readonly points: number;
  /** What the people were told: status, reason and text of each run. */
  readonly told: readonly string[];
  /** What people said, as far as it is in the log. */
  readonly inputs: readonly string[];
  /** How each call ended, by its tool. */
  readonly outcomes: ReadonlyMap<string, { readonly tool: string; readonly outcome: string }>;
  /** How often each call took effect. */
  readonly acts: ReadonlyMap<string, number>;
};

const mostTurns = 5_000;

/** Plays a scenario to its end, and checks the invariants. An error has the trace. */
export async function play(scenario: Scenario, options: PlayOptions): Promise<Ending> {
  const world = createWorld(options.store, createChance(1), options.sessionId);
  try {
    const { points, results } = await live(world, scenario, options);
    const history = await historyOf(world, { questions: [], readers: [] }, false);
    checkInvariants(history);
    return {
      points,
      told: results.map(toldOf),
      inputs: inputsOf(history.log),
      outcomes: outcomesOf(history.log),
      acts: actsOf(world),
    };
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    const where = `${scenario.name}, dies at ${options.dies.join(" and ")} of its ${options.points}`;
    throw new Error(`${where}: ${what}\n\n${traceOf(world.facts, 60)}`, { cause });
  }
}

type Life = { readonly process: Process; results: readonly RunResult[] | null; error?: unknown; isActing: boolean };

async function live(world: World, scenario: Scenario, { dies, points, sameHost }: PlayOptions) {
  const ledger: Ledger = new Map();
  let life = begin(world, scenario, ledger, sameHost);
  let passed = 0;
  for (let turn = 0; turn < mostTurns; turn += 1) {
    await world.settle();
    if (life.error !== undefined) throw life.error;
    if (life.results !== null) return { points: passed, results: life.results };
    const [next] = ready(world).filter((one) => one.what !== "slow tool");
    if (next === undefined) {
      goOn(world, scenario, life);
      continue;
    }
    if (isPoint(next, points)) passed += 1;
    if (isPoint(next, points) && dies.includes(passed)) {
      kill(world, life.process);
      life = begin(world, scenario, ledger, sameHost);
    } else take(world, next);
  }
  throw new Error(`it has not come to its end after ${mostTurns} turns`);
}

function isPoint({ what }: Turn, points: PlayOptions["points"]): boolean {
  return points === "waits" || what === "commit" || what === "commit answered";
}

function begin(world: World, scenario: Scenario, ledger: Ledger, sameHost: boolean): Life {
  const process = startProcess(world, {
    sameHost,
    parts(self) {
      const bench = { world, ledger, process: self };
      return {
        model: modelOf(world, self, scenario),
        tools: createTools(bench),
        canExecuteTool: permissionsOf(world, self),
        limits: { abortGraceMs: 600 },
      };
    },
  });
  const life: Life = { process, results: null, isActing: false };
  scenario.attend(process.agent, world.sessionId).then(
    (results) => {
      life.results = results;
    },
    (error) => {
      life.error = error ?? new Error("it failed");
    },
  );
  return life;
}

/** The answers take their time, but for `look`. */
function permissionsOf(world: World, process: () => Process): CanExecuteTool {
  return async ({ tool }) => {
    if (tool.name === "look") return "allow";
    await world.turn(process(), "policy");
    if (tool.name === "forbidden") return { verdict: "deny", reason: "nobody may" };
    return tool.name === "questioned" ? { verdict: "ask", question: "May it?" } : "allow";
  };
}

/** Nothing waits for a turn: somebody does something, or time goes on. */
function goOn(world: World, scenario: Scenario, life: Life): void {
  if (scenario.whenStill !== undefined && !life.isActing) {
    life.isActing = true;
    scenario.whenStill(life.process.agent, world.sessionId).then(
      () => {
        world.clock.after(1_000, () => {
          life.isActing = false;
        });
      },
      (error) => {
        life.error = error;
      },
    );
    return;
  }
  if (!world.clock.fireNext()) throw new Error("nothing goes on any more");
}

function modelOf(world: World, process: () => Process, scenario: Scenario): Model {
  return createScriptedModel(
    (request) => {
      world.note({
        type: "model_called",
        process: process().name,
        request: { ...request, messages: [...request.messages] },
      });
      const step = scenario.answer(request);
      world.note({ type: "model_meant", attempt: attemptOf(request), parts: meant(step) });
      return { ...step, wait: world.turn(process(), "model") };
    },
    { record: false },
  );
}

function meant({ text, calls = [] }: ScriptedStep): readonly string[] {
  return [...(text === undefined ? [] : [`text: ${text}`]), ...calls.map((call) => `call: ${call.id} ${call.name}`)];
}

function toldOf(result: RunResult): string {
  return `${result.runId} ${result.status}${"reason" in result ? ` ${result.reason}` : ""}: ${result.text}`;
}

function inputsOf(log: readonly Entry[]): readonly string[] {
  const inputs = log.flatMap(({ event }) =>
    event.type === "run_started" || event.type === "run_queued" || event.type === "steered" ? (event.input ?? []) : [],
  );
  return inputs.map(textOf).sort();
}

function outcomesOf(log: readonly Entry[]): Ending["outcomes"] {
  const tools = new Map<string, string>();
  const outcomes = new Map<string, { readonly tool: string; readonly outcome: string }>();
  for (const { event } of log) {
    if (event.type === "model_finished")
      for (const [index, { name }] of toolCallsOf(event.message).entries())
        tools.set(`${event.runId}/${event.modelCallIndex}/${index + 1}`, name);
    if (event.type === "tool_finished")
      outcomes.set(event.callKey, { tool: tools.get(event.callKey) ?? "", outcome: event.outcome });
  }
  return outcomes;
}

function actsOf(world: World): Ending["acts"] {
  const acts = new Map<string, number>();
  for (const fact of world.facts)
    if (fact.type === "tool_acted") acts.set(fact.callKey, (acts.get(fact.callKey) ?? 0) + 1);
  return acts;
}
