/**
 * Directs a simulation: gives out turns by chance, moves the clock, makes people speak and processes die; then lets
 * everything come to its end, and fails where it does not.
 */

import { leaseMs } from "../../../src/testing/world/processes.js";
import { createSeededRandom, type SeededRandom } from "../../../src/testing/world/seeded-random.js";
import {
  continueProcess,
  killProcess,
  noFaults,
  type Process,
  type StoreFaults,
  stopProcess,
  type World,
} from "../../../src/testing/world/world.js";
import { type Clients, createClients } from "./clients.js";
import { advanceOnce, expectDueOrHeld, runToEnd } from "./ending.js";
import { createFilter, createGuard, createRepair, createSource, drawExtras, type Extras, noExtras } from "./extras.js";
import {
  agentNameAt,
  drawFamilyHabits,
  type FamilyHabits,
  listToolNames,
  maxHandoffs,
  toTransferName,
  twinNameAt,
} from "./family.js";
import { createHooks, drawHookHabits, type HookHabits } from "./hooks.js";
import type { ModelHabits } from "./model.js";
import { createModel, createSummarizer } from "./model.js";
import { createReader, type ProcessOptions, startProcess } from "./processes.js";
import { createSteppedTools, drawSteppedTools } from "./stepped-tools.js";
import { drawTimedHabits, type TimedHabits } from "./timed.js";
import { createPermissions, createTools, type Ledger } from "./tools.js";
import { collectTellings, type Telling } from "./watches.js";

/** What a seed makes likely; each probability counts once for a turn. */
export type Profile = {
  /** Nothing but people, models and tools: no run is ever interrupted then. */
  readonly isCalm: boolean;
  readonly faults: StoreFaults;
  readonly kill: number;
  /** Whoever calls the model dies of it. */
  readonly isDeadly: boolean;
  readonly stop: number;
  readonly jump: number;
  readonly say: number;
  /** While a tool takes its time, somebody answers what was asked beside it, or aborts. */
  readonly impatience: number;
  /** Time goes on though something waits for its turn. */
  readonly hurry: number;
  readonly abort: number;
  readonly shutDown: number;
  readonly sameHost: boolean;
  readonly habits: ModelHabits;
  readonly own: OwnHabits;
};

/** What draws from a chance of its own, so that worlds without it are what they were before there was any. */
export type OwnHabits = {
  readonly hooks: HookHabits | null;
  readonly family: FamilyHabits | null;
  /** The tools with steps that models pick from, beside the others. */
  readonly stepped: readonly string[];
  readonly extras: Extras;
  /** Whether somebody asks for compactions; a chance: at which turns. */
  readonly asking: SeededRandom | null;
  /** The agent's own model sums up, after the conversation itself: its provider caches prompts. */
  readonly hasCache: boolean;
  /** Somebody gives the session other titles. */
  readonly renaming: SeededRandom | null;
  /** Somebody interrupts what runs with another request. */
  readonly interrupting: SeededRandom | null;
  /** Whether somebody watches a family; a chance: at which turns. */
  readonly watching: SeededRandom | null;
  /** Tools that ask have schemas that look elsewhere, which takes a turn. */
  readonly hasSlowSchemas: boolean;
  /** What is read of the store is given late now and then. */
  readonly late: StoreFaults["late"];
  /** Tools sleep, and people and schedules send for later. */
  readonly timed: TimedHabits | null;
};

export function drawOwnHabits(seed: number): OwnHabits {
  const family = createSeededRandom(seed ^ 0x2545f491);
  const watching = createSeededRandom(seed ^ 0x27d4eb2f);
  const asking = createSeededRandom(seed ^ 0x165667b1);
  const renaming = createSeededRandom(seed ^ 0x2c1b3c6d);
  const interrupting = createSeededRandom(seed ^ 0x3c6ef372);
  const late = createSeededRandom(seed ^ 0x4cf5ad43);
  return {
    hooks: drawHookHabits(createSeededRandom(seed ^ 0x5bd1e995)),
    family: drawFamilyHabits(family),
    hasSlowSchemas: family.happens(0.3),
    watching: watching.happens(0.5) ? watching : null,
    asking: asking.happens(0.3) ? asking : null,
    hasCache: createSeededRandom(seed ^ 0x9e3779b1).happens(0.5),
    renaming: renaming.happens(0.2) ? renaming : null,
    interrupting: interrupting.happens(0.2) ? interrupting : null,
    late: late.happens(0.4) ? { chance: late, probability: late.pick([0.1, 0.5]) } : null,
    timed: drawTimedHabits(createSeededRandom(seed ^ 0x7feb352d)),
    stepped: drawSteppedTools(createSeededRandom(seed ^ 0x1b873593)),
    extras: drawExtras(createSeededRandom(seed ^ 0x85ebca6b), createSeededRandom(seed ^ 0xc2b2ae35)),
  };
}

export const noOwnHabits: OwnHabits = {
  hooks: null,
  family: null,
  watching: null,
  asking: null,
  hasCache: false,
  renaming: null,
  interrupting: null,
  hasSlowSchemas: false,
  late: null,
  timed: null,
  stepped: [],
  extras: { chance: createSeededRandom(0), ...noExtras },
};

/** What is called where people are impatient: tools that take their time, and others beside them that somebody has to approve. */
const slowTools = ["slow", "deaf", "guarded", "questioned"];

/** Each seed has some kinds of trouble and lacks others: so each kind also meets the rest undisturbed. */
export function drawProfile({ chance }: World, own: OwnHabits): Profile {
  const isCrowded = chance.happens(0.25);
  const isCalm = chance.happens(isCrowded ? 0.4 : 0.1);
  const unlessCalm = (probability: number) => (!isCalm && chance.happens(0.4) ? probability : 0);
  const sometimes = (probability: number) => (chance.happens(0.4) ? probability : 0);
  const all = [
    "look",
    "keyed",
    "once",
    "unsure",
    "traceable",
    "guarded",
    "questioned",
    "forbidden",
    "alone",
    "checked",
  ];
  const tools = [...all, "broken", "slow", "deaf", "sudden", "flaky", "hopeless", "outside", "finish"].filter(() =>
    chance.happens(0.5),
  );
  const window = chance.happens(0.3) ? chance.pick([500, 800, 1_200]) : null;
  return {
    isCalm,
    faults: {
      fails: unlessCalm(0.02),
      lost: unlessCalm(0.03),
      busy: unlessCalm(0.1),
      twice: unlessCalm(0.1),
      late: own.late,
    },
    kill: unlessCalm(chance.pick([0.03, 0.03, 0.03, 0.2])),
    isDeadly: !isCalm && chance.happens(0.05),
    stop: unlessCalm(0.03),
    jump: unlessCalm(0.01),
    say: 0.05,
    impatience: isCrowded ? 0.25 : 0,
    hurry: isCalm ? 0 : 0.06,
    abort: sometimes(0.02),
    shutDown: unlessCalm(0.005),
    sameHost: chance.happens(0.5),
    habits: {
      tools: isCrowded ? slowTools : tools.length > 0 ? tools : ["look"],
      fails: sometimes(0.25),
      stutters: sometimes(0.3),
      window,
    },
    own,
  };
}

export type DirectedResult = {
  readonly clients: Clients;
  readonly turns: number;
  /** What those who watch were told. */
  readonly tellings: readonly Telling[];
};

export async function directSimulation(world: World, profile: Profile, turns: number): Promise<DirectedResult> {
  const clients = createClients(world, profile.sameHost, profile.own.extras);
  const options = createProcessOptions(world, profile);
  const start = () => startProcess(world, options);
  clients.run(start());
  world.faults = profile.faults;
  for (let turn = 0; turn < turns; turn += 1) {
    await world.settle();
    causeTrouble(world, profile, clients, start);
    advanceOnce(world, profile.hurry);
  }
  await world.settle();
  await expectDueOrHeld(world);
  world.faults = noFaults;
  for (const process of world.processes) if (process.status === "stopped") continueProcess(world, process);
  const all = turns + (await runToEnd(world, clients, start));
  const tellings = await collectTellings(world, clients.watches, createReader(world, options), profile.own.watching);
  return { clients, turns: all, tellings };
}

function createProcessOptions(world: World, { sameHost, habits, own }: Profile): ProcessOptions {
  const ledger: Ledger = new Map();
  const { hooks, family, hasCache, hasSlowSchemas, extras, timed } = own;
  const names = [...habits.tools, ...own.stepped, ...extras.tools, ...(timed?.tools ?? [])];
  return {
    sameHost,
    depth: family?.depth ?? 0,
    hasTwins: extras.hasTwins,
    filterOf: (process) => createFilter(world, process, extras),
    ...(timed === null ? {} : { skewsMs: timed.skewsMs }),
    createAgentOptions(process, level, agent) {
      const toolDeps = { world, ledger, process, hasSlowSchemas, agent };
      const twinName = agent === agentNameAt(level) ? twinNameAt(level) : agentNameAt(level);
      const tools = [...listToolNames(level, names, family), ...(extras.hasTwins ? [toTransferName(twinName)] : [])];
      const own = { ...habits, tools, hasCache, slips: extras.slips };
      const ownHooks = hooks === null ? [] : createHooks(world, process, hooks);
      return {
        model: createModel(world, process, own, { agent }),
        models: { fast: createModel(world, process, own, { agent, id: "fast" }) },
        settings: { temperature: 0 },
        tools: [...createTools(toolDeps), ...createSteppedTools(toolDeps)],
        canExecuteTool: createPermissions(toolDeps),
        ...(habits.window === null
          ? {}
          : {
              compaction: {
                contextWindow: habits.window,
                ...(hasCache ? {} : { model: createSummarizer(world, process) }),
              },
            }),
        ...(extras.hasSources ? { context: { sources: [createSource(world, process, extras)] } } : {}),
        ...(extras.slips > 0 ? { repairToolCall: createRepair(world, process, extras) } : {}),
        limits: { maxSteps: 6, toolConcurrency: 3, abortGraceMs: 600, maxHandoffs },
        hooks: [...ownHooks, ...createGuard(world, process, extras)],
      };
    },
  };
}

function causeTrouble(world: World, profile: Profile, clients: Clients, start: () => Process): void {
  const { chance } = world;
  const running = world.processes.filter((process) => process.status === "running");
  if (running.length === 0) {
    running.push(start());
    // Somebody looks after it: a run that keeps killing its process is taken up again.
    if (profile.isDeadly || chance.happens(0.7)) clients.resume(chance.pick(running));
  } else if (running.length < 3 && chance.happens(0.01)) running.push(start());
  const one = chance.pick(running);
  if (chance.happens(profile.say)) askSomething(world, clients, one);
  if (chance.happens(profile.abort)) clients.abort(one);
  if (profile.habits.window !== null && profile.own.asking?.happens(0.05) === true) clients.compact(one);
  if (profile.own.renaming?.happens(0.02) === true) clients.rename(one, profile.own.renaming);
  if (profile.own.interrupting?.happens(0.03) === true) clients.send(one, "interrupt");
  if (profile.own.family !== null) visitFamily(world, profile, clients, one);
  if (profile.own.timed !== null) letTimePass(world, profile, profile.own.timed, clients, one);
  if (hasUnansweredSlowTool(world, clients, one) && chance.happens(profile.impatience)) interfere(world, clients, one);
  if (chance.happens(profile.shutDown)) clients.shutDown(one);
  const diesOfModelCall =
    profile.isDeadly && world.turns.some((turn) => turn.process === one && turn.operation === "model");
  if (diesOfModelCall || chance.happens(profile.kill)) killProcess(world, one);
  else if (chance.happens(profile.stop)) stopProcess(world, one);
  for (const process of world.processes)
    if (process.status === "stopped" && chance.happens(0.03)) continueProcess(world, process);
  if (chance.happens(profile.jump)) setClock(world, chance.pick([-yearMs, -5_000, 700, leaseMs * 3, yearMs]));
}

function setClock(world: World, ms: number): void {
  world.clock.jump(ms);
  world.record({ type: "jumped", ms });
}

/** A tool takes its time, and nobody has asked this process to do something about it. */
function hasUnansweredSlowTool({ turns }: World, { questions }: Clients, process: Process): boolean {
  const isAsked = questions.some(
    (one) => one.process === process && one.answer === null && interferences.has(one.what),
  );
  return !isAsked && turns.some(({ operation }) => operation === "slow tool");
}

const interferences: ReadonlySet<string> = new Set(["answer", "abort"]);

function interfere({ chance }: World, clients: Clients, process: Process): void {
  chance.pick([clients.answer, clients.answer, clients.answer, clients.abort])(process);
}

/** People and workers who look at the sessions below the first one, too. */
function visitFamily({ chance }: World, { say, abort, own }: Profile, clients: Clients, process: Process): void {
  if (own.watching?.happens(0.06) === true) clients.watch(process, own.watching);
  if (chance.happens(say)) chance.pick([clients.answerBelow, clients.answerBelow, clients.work])(process);
  if (chance.happens(abort)) clients.abortBelow(process);
}

/** While everything sleeps, nothing else moves the clock. */
function letTimePass(
  world: World,
  { isCalm }: Profile,
  { chance, hasSchedules }: TimedHabits,
  clients: Clients,
  process: Process,
): void {
  const { clock } = world;
  if (!isCalm && chance.happens(0.03)) setClock(world, chance.pick([-4_000, -900, 1_500]));
  if (chance.happens(0.15)) clock.after(chance.pick([300, 2_000, 9_000]), () => {});
  if (chance.happens(0.06)) clients.signal(process, chance);
  if (chance.happens(0.04)) clients.sendLater(process, chance);
  if (chance.happens(0.04)) clients.work(process);
  if (hasSchedules && chance.happens(0.04)) clients.changeSchedule(process, chance);
}

function askSomething({ chance }: World, clients: Clients, process: Process): void {
  const say = chance.pick([
    clients.run,
    (one: Process) => clients.send(one, "queue"),
    (one: Process) => clients.send(one, "steer"),
    (one: Process) => clients.send(one, "reject"),
    clients.read,
    clients.answer,
    clients.answer,
    clients.resume,
  ]);
  say(process);
}

const yearMs = 31_536_000_000;
