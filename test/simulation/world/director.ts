/**
 * Directs a simulation: gives out turns by chance, moves the clock, makes people speak and processes die; then lets
 * everything come to its end, and fails where it does not.
 */
import { effects } from "../../../src/core/machine/effects.js";
import { hasCalls, isResting, type State } from "../../../src/core/machine/state.js";
import { leaseMs } from "../../../src/testing/world/processes.js";
import {
  carryOn,
  kill,
  noFaults,
  type Process,
  ready,
  type StoreFaults,
  stop,
  take,
  type World,
} from "../../../src/testing/world/world.js";
import { type Clients, createClients } from "./clients.js";
import { createHooks, type HookHabits } from "./hooks.js";
import type { ModelHabits } from "./model.js";
import { createModel, createSummariser } from "./model.js";
import { type ProcessOptions, startProcess } from "./processes.js";
import { createPermissions, createTools, type Ledger } from "./tools.js";

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
  readonly hooks: HookHabits | null;
};

/** What is called where people are impatient: tools that take their time, and others beside them that somebody has to approve. */
const lasting = ["slow", "deaf", "guarded", "questioned"];

/** Each seed has some kinds of trouble and lacks others: so each kind also meets the rest undisturbed. */
export function temperOf({ chance }: World, hooks: HookHabits | null): Temper {
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
  const tools = [...all, "broken", "slow", "deaf", "sudden", "outside", "finish"].filter(() => chance.happens(0.5));
  const window = chance.happens(0.3) ? chance.pick([500, 800, 1_200]) : null;
  return {
    isCalm,
    faults: { fails: some(0.02), lost: some(0.03), busy: some(0.1), twice: some(0.1) },
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
    hooks,
  };
}

export type Directed = { readonly clients: Clients; readonly turns: number };

const mostTurnsToEnd = 6_000;
/** How long those who follow a session may take to see its end, and the hooks of a call that was given up to give out. */
const quietForMs = 1_300;

export async function direct(world: World, temper: Temper, turns: number): Promise<Directed> {
  const clients = createClients(world);
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
  return { clients, turns: turns + (await comeToEnd(world, clients, start)) };
}

function optionsOf(world: World, temper: Temper): ProcessOptions {
  const ledger: Ledger = new Map();
  return {
    sameHost: temper.sameHost,
    parts(process) {
      const bench = { world, ledger, process };
      return {
        model: createModel(world, process, temper.habits),
        tools: createTools(bench),
        canExecuteTool: createPermissions(bench),
        ...(temper.habits.window === null
          ? {}
          : { compaction: { contextWindow: temper.habits.window, model: createSummariser(world, process) } }),
        limits: { maxSteps: 6, toolConcurrency: 3, abortGraceMs: 600 },
        hooks: temper.hooks === null ? [] : createHooks(world, process, temper.hooks),
      };
    },
  };
}

/** One step: a turn for something that waits for one, or the next timer. False where there is neither. */
function advance(world: World, hurry: number): boolean {
  const { chance, clock } = world;
  const waiting = ready(world).filter((turn) => turn.what !== "slow tool");
  if (waiting.length === 0 || chance.happens(hurry)) {
    if (clock.fireNext()) return true;
    const slow = ready(world);
    if (slow.length > 0) take(world, chance.pick(slow));
    return slow.length > 0;
  }
  take(world, chance.pick(waiting));
  return true;
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

/** Whatever was left of a run, somebody can find it: once every lease has run out, a session that wants a driver is due. */
async function expectDueOrHeld(world: World): Promise<void> {
  const wanted = await wantedFrom(world);
  const loaded = await world.include(world.store.load(world.sessionId));
  const heldBack = loaded !== null && isResting(loaded.state);
  const posted = await world.include(world.store.inbox(world.sessionId));
  if (wanted !== "a driver" || (heldBack && posted.length === 0)) return;
  const due = await world.include(world.store.due(world.clock.now() + 10 * aYear, 10));
  if (!due.includes(world.sessionId)) throw new Error("invariant 12 is broken: the session is active, and never due");
}

const aYear = 31_536_000_000;

/** Without further trouble, everything that was asked for is answered and every run ends. */
async function comeToEnd(world: World, clients: Clients, start: () => Process): Promise<number> {
  const last = start();
  let quietSince: number | null = null;
  for (let turn = 0; turn < mostTurnsToEnd; turn += 1) {
    await world.settle();
    if (ready(world).some((one) => one.what !== "slow tool")) {
      advance(world, 0);
      continue;
    }
    const open = clients.questions.filter((one) => one.answer === null && one.process.status === "running");
    const wanted = await wantedFrom(world);
    if (wanted === "nothing" && open.length === 0) {
      quietSince ??= world.clock.elapsed();
      if (world.clock.elapsed() > quietSince + quietForMs || !advance(world, 0)) return turn;
      continue;
    }
    quietSince = null;
    if (wanted === "an answer" && !open.some((one) => one.what === "answer")) clients.answer(last);
    else if (wanted === "a driver" && !open.some((one) => one.what === "resume")) clients.resume(last);
    else if (!advance(world, 0))
      throw new Error(
        `nothing goes on any more: ${open.map((one) => `${one.what} on ${one.process.name}`).join(", ")} has no answer`,
      );
  }
  throw new Error(`after ${mostTurnsToEnd} turns without trouble the session has not come to its end`);
}

/** What the session needs of the people outside. */
async function wantedFrom(world: World): Promise<"nothing" | "an answer" | "a driver"> {
  const { store } = world;
  const loaded = await world.include(store.load(world.sessionId));
  const inbox = await world.include(store.inbox(world.sessionId));
  if (inbox.length > 0) return "a driver";
  if (loaded === null) return "nothing";
  const { state } = loaded;
  if (effects(state).some(({ type }) => type === "call_after_run_hooks")) return "a driver";
  if (isResting(state)) return state.queue.some((one) => one.kind === "run") ? "a driver" : "nothing";
  return waitsForPeople(state, world.clock.now()) ? "an answer" : "a driver";
}

/** A question whose time is over is answered by that: whoever drives the session says so. */
function waitsForPeople(state: State, now: number): boolean {
  return (
    hasCalls(state) &&
    state.stopping === null &&
    state.calls.every(
      (call) =>
        (call.status === "asking" && (call.expiresAt === undefined || call.expiresAt > now)) ||
        call.status === "waiting" ||
        call.status === "done" ||
        call.status === "ready",
    )
  );
}
