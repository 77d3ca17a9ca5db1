/**
 * Directs a simulation: gives out turns by chance, moves the clock, makes people speak and processes die; then lets
 * everything come to its end, and fails where it does not.
 */
import { type Chance, createChance } from "../../../src/testing/world/chance.js";
import { leaseMs } from "../../../src/testing/world/processes.js";
import {
  carryOn,
  kill,
  noFaults,
  type Process,
  type StoreFaults,
  stop,
  type World,
} from "../../../src/testing/world/world.js";
import { type Clients, createClients } from "./clients.js";
import { advance, comeToEnd, expectDueOrHeld } from "./ending.js";
import { createFilter, createGuard, createRepair, createSource, type Extras, extrasOf, noExtras } from "./extras.js";
import { type FamilyHabits, familyHabitsOf, maxHandoffs, nameAt, namesAt, transferTo, twinAt } from "./family.js";
import { createHooks, type HookHabits, hookHabitsOf } from "./hooks.js";
import type { ModelHabits } from "./model.js";
import { createModel, createSummariser } from "./model.js";
import { createReader, type ProcessOptions, startProcess } from "./processes.js";
import { createSteppedTools, steppedNamesOf } from "./stepped-tools.js";
import { createPermissions, createTools, type Ledger } from "./tools.js";
import { type Telling, tellingsOf } from "./watches.js";

/** What a seed makes likely; each probability counts once for a turn. */
export type Temper = {
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
  readonly asking: Chance | null;
  /** The agent's own model sums up, after the conversation itself: its provider caches prompts. */
  readonly hasCache: boolean;
  /** Somebody gives the session other titles. */
  readonly renaming: Chance | null;
  /** Somebody interrupts what runs with another request. */
  readonly interrupting: Chance | null;
  /** Whether somebody watches a family; a chance: at which turns. */
  readonly watching: Chance | null;
  /** Tools that ask have schemas that look elsewhere, which takes a turn. */
  readonly hasSlowSchemas: boolean;
  /** What is read of the store is given late now and then. */
  readonly late: StoreFaults["late"];
};

export function ownHabitsOf(seed: number): OwnHabits {
  const family = createChance(seed ^ 0x2545f491);
  const watching = createChance(seed ^ 0x27d4eb2f);
  const asking = createChance(seed ^ 0x165667b1);
  const renaming = createChance(seed ^ 0x2c1b3c6d);
  const interrupting = createChance(seed ^ 0x3c6ef372);
  const late = createChance(seed ^ 0x4cf5ad43);
  return {
    hooks: hookHabitsOf(createChance(seed ^ 0x5bd1e995)),
    family: familyHabitsOf(family),
    hasSlowSchemas: family.happens(0.3),
    watching: watching.happens(0.5) ? watching : null,
    asking: asking.happens(0.3) ? asking : null,
    hasCache: createChance(seed ^ 0x9e3779b1).happens(0.5),
    renaming: renaming.happens(0.2) ? renaming : null,
    interrupting: interrupting.happens(0.2) ? interrupting : null,
    late: late.happens(0.4) ? { chance: late, probability: late.pick([0.1, 0.5]) } : null,
    stepped: steppedNamesOf(createChance(seed ^ 0x1b873593)),
    extras: extrasOf(createChance(seed ^ 0x85ebca6b), createChance(seed ^ 0xc2b2ae35)),
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
  stepped: [],
  extras: { chance: createChance(0), ...noExtras },
};

/** What is called where people are impatient: tools that take their time, and others beside them that somebody has to approve. */
const lasting = ["slow", "deaf", "guarded", "questioned"];

/** Each seed has some kinds of trouble and lacks others: so each kind also meets the rest undisturbed. */
export function temperOf({ chance }: World, own: OwnHabits): Temper {
  const isCrowded = chance.happens(0.25);
  const isCalm = chance.happens(isCrowded ? 0.4 : 0.1);
  const some = (probability: number) => (!isCalm && chance.happens(0.4) ? probability : 0);
  const often = (probability: number) => (chance.happens(0.4) ? probability : 0);
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
    faults: { fails: some(0.02), lost: some(0.03), busy: some(0.1), twice: some(0.1), late: own.late },
    kill: some(chance.pick([0.03, 0.03, 0.03, 0.2])),
    isDeadly: !isCalm && chance.happens(0.05),
    stop: some(0.03),
    jump: some(0.01),
    say: 0.05,
    impatience: isCrowded ? 0.25 : 0,
    hurry: isCalm ? 0 : 0.06,
    abort: often(0.02),
    shutDown: some(0.005),
    sameHost: chance.happens(0.5),
    habits: {
      tools: isCrowded ? lasting : tools.length > 0 ? tools : ["look"],
      fails: often(0.25),
      stutters: often(0.3),
      window,
    },
    own,
  };
}

export type Directed = {
  readonly clients: Clients;
  readonly turns: number;
  /** What those who watch were told. */
  readonly tellings: readonly Telling[];
};

export async function direct(world: World, temper: Temper, turns: number): Promise<Directed> {
  const clients = createClients(world, temper.sameHost, temper.own.extras);
  const options = optionsOf(world, temper);
  const start = () => startProcess(world, options);
  clients.run(start());
  world.faults = temper.faults;
  for (let turn = 0; turn < turns; turn += 1) {
    await world.settle();
    disturb(world, temper, clients, start);
    advance(world, temper.hurry);
  }
  await world.settle();
  await expectDueOrHeld(world);
  world.faults = noFaults;
  for (const process of world.processes) if (process.status === "stopped") carryOn(world, process);
  const all = turns + (await comeToEnd(world, clients, start));
  const tellings = await tellingsOf(world, clients.watches, createReader(world, options), temper.own.watching);
  return { clients, turns: all, tellings };
}

function optionsOf(world: World, { sameHost, habits, own }: Temper): ProcessOptions {
  const ledger: Ledger = new Map();
  const { hooks, family, hasCache, hasSlowSchemas, extras } = own;
  const names = [...habits.tools, ...own.stepped, ...extras.tools];
  return {
    sameHost,
    depth: family?.depth ?? 0,
    hasTwins: extras.hasTwins,
    filterOf: (process) => createFilter(world, process, extras),
    parts(process, level, agent) {
      const bench = { world, ledger, process, hasSlowSchemas, agent };
      const other = agent === nameAt(level) ? twinAt(level) : nameAt(level);
      const tools = [...namesAt(level, names, family), ...(extras.hasTwins ? [transferTo(other)] : [])];
      const own = { ...habits, tools, hasCache, slips: extras.slips };
      const ownHooks = hooks === null ? [] : createHooks(world, process, hooks);
      return {
        model: createModel(world, process, own, { agent }),
        models: { fast: createModel(world, process, own, { agent, id: "fast" }) },
        settings: { temperature: 0 },
        tools: [...createTools(bench), ...createSteppedTools(bench)],
        canExecuteTool: createPermissions(bench),
        ...(habits.window === null
          ? {}
          : {
              compaction: {
                contextWindow: habits.window,
                ...(hasCache ? {} : { model: createSummariser(world, process) }),
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

function disturb(world: World, temper: Temper, clients: Clients, start: () => Process): void {
  const { chance, clock } = world;
  const running = world.processes.filter((process) => process.status === "running");
  if (running.length === 0) {
    running.push(start());
    // Somebody looks after it: a run that keeps killing its process is taken up again.
    if (temper.isDeadly || chance.happens(0.7)) clients.resume(chance.pick(running));
  } else if (running.length < 3 && chance.happens(0.01)) running.push(start());
  const one = chance.pick(running);
  if (chance.happens(temper.say)) speak(world, clients, one);
  if (chance.happens(temper.abort)) clients.abort(one);
  if (temper.habits.window !== null && temper.own.asking?.happens(0.05) === true) clients.compact(one);
  if (temper.own.renaming?.happens(0.02) === true) clients.rename(one, temper.own.renaming);
  if (temper.own.interrupting?.happens(0.03) === true) clients.send(one, "interrupt");
  if (temper.own.family !== null) attend(world, temper, clients, one);
  if (isWaitedFor(world, clients, one) && chance.happens(temper.impatience)) interfere(world, clients, one);
  if (chance.happens(temper.shutDown)) clients.shutDown(one);
  const dies = temper.isDeadly && world.turns.some((turn) => turn.process === one && turn.what === "model");
  if (dies || chance.happens(temper.kill)) kill(world, one);
  else if (chance.happens(temper.stop)) stop(world, one);
  for (const process of world.processes)
    if (process.status === "stopped" && chance.happens(0.03)) carryOn(world, process);
  if (chance.happens(temper.jump)) {
    const ms = chance.pick([-aYear, -5_000, 700, leaseMs * 3, aYear]);
    clock.jump(ms);
    world.note({ type: "jumped", ms });
  }
}

/** A tool takes its time, and nobody has asked this process to do something about it. */
function isWaitedFor({ turns }: World, { questions }: Clients, process: Process): boolean {
  const isAsked = questions.some(
    (one) => one.process === process && one.answer === null && interferences.has(one.what),
  );
  return !isAsked && turns.some(({ what }) => what === "slow tool");
}

const interferences: ReadonlySet<string> = new Set(["answer", "abort"]);

function interfere({ chance }: World, clients: Clients, process: Process): void {
  chance.pick([clients.answer, clients.answer, clients.answer, clients.abort])(process);
}

/** People and workers who look at the sessions below the first one, too. */
function attend({ chance }: World, { say, abort, own }: Temper, clients: Clients, process: Process): void {
  if (own.watching?.happens(0.06) === true) clients.watch(process, own.watching);
  if (chance.happens(say)) chance.pick([clients.answerBelow, clients.answerBelow, clients.work])(process);
  if (chance.happens(abort)) clients.abortBelow(process);
}

function speak({ chance }: World, clients: Clients, process: Process): void {
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

const aYear = 31_536_000_000;
