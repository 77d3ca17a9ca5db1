/**
 * `pawl schedule`: creates, lists and changes the schedules of the store.
 */
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import {
  createMemoryStore,
  createSchedules,
  PawlError,
  type Schedule,
  type ScheduleInfo,
  type Store,
  textOf,
} from "../../index.js";
import type { PostedRun, SlotRow } from "../../store.js";
import { agentName } from "../agent/agent-name.js";
import { exitCodes } from "../exit.js";
import { openStore } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import type { Terminal } from "../terminal/terminal.js";
import {
  formatCount,
  formatDuration,
  formatJsonLine,
  parseDuration,
  sanitize,
  toOneLine,
  truncate,
} from "../terminal/text.js";

export type AddOptions = {
  readonly zone?: string;
  readonly agent?: string;
  readonly root?: string;
  readonly missed?: "last" | "all" | "skip";
  readonly overlap?: "skip" | "queue" | "allow";
  readonly session?: string;
  readonly jitter?: number;
  readonly paused?: true;
  readonly ifNew?: true;
  readonly json?: true;
};

export type NextOptions = { readonly zone?: string; readonly count?: number; readonly json?: true };

type JsonOption = { readonly json?: true };
type Schedules = ReturnType<typeof createSchedules>;

async function withSchedules(
  work: (schedules: Schedules, store: Store) => Promise<void>,
  options: { readonly creates?: boolean } = {},
): Promise<number> {
  const store = await openStore(resolveHome(process.env), options);
  try {
    await work(createSchedules({ store }), store);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

export async function add(
  id: string,
  when: string,
  words: readonly string[],
  options: AddOptions,
  terminal: Terminal,
): Promise<number> {
  const input = await readInput(words);
  const { zone, agent = agentName, root, missed, overlap, session, jitter, paused, ifNew, json } = options;
  // The agent of the command line works on a folder; an agent of a module has its own.
  const folder = root === undefined && agent !== agentName ? {} : { root: resolve(root ?? ".") };
  const schedule: Schedule = {
    id,
    ...parseWhen(when),
    agent,
    input,
    ...folder,
    ...(zone === undefined ? {} : { timezone: zone }),
    ...(missed === undefined ? {} : { missed }),
    ...(overlap === undefined ? {} : { overlap }),
    ...(session === undefined ? {} : { session: session === "new" || session === "same" ? session : { id: session } }),
    ...(jitter === undefined ? {} : { jitterMs: jitter }),
    ...(paused === undefined ? {} : { paused }),
  };
  const put = async (schedules: Schedules) => {
    const replaced = ifNew === undefined && (await schedules.get(id)) !== null;
    const info = await schedules.put(schedule, ifNew === undefined ? {} : { ifNew });
    if (json === true) return terminal.json(info);
    terminal.out(`${id}${replaced ? ", replaced" : ""}: ${describeNext(info)}.\n`);
    if (isPast(info))
      terminal.err(
        `${terminal.style("yellow", `This time is in the past: ${missed === "skip" || info.nextAt === null ? "the run never starts" : "a worker runs it at once"}.`)}\n`,
      );
    terminal.hint("A worker fires it: pawl worker, or pawl serve.\n");
  };
  return withSchedules(put, { creates: true });
}

function isPast({ when }: ScheduleInfo): boolean {
  return "at" in when && when.at < Date.now();
}

async function readInput(words: readonly string[]): Promise<string> {
  const input = words.join(" ");
  if (input !== "" && input !== "-") return input;
  const read = process.stdin.isTTY === true ? "" : (await text(process.stdin)).trim();
  if (read !== "") return read;
  throw new PawlError(
    "bad_input",
    'There is no task for the agent. Give one, as in pawl schedule add morning "0 8 * * *" "What is new?"',
  );
}

/** The minimum number of fields of a cron expression. */
const cronFields = 5;

/** An interval (`10m`), a time (`2026-12-01T08:00Z`), or a cron expression. */
function parseWhen(when: string): { readonly everyMs: number } | { readonly at: string } | { readonly cron: string } {
  const everyMs = parseDuration(when);
  if (everyMs !== null) return { everyMs };
  if (/^\d{4}-\d\d-\d\dT/.test(when)) {
    if (!/(?:Z|[+-]\d\d:?\d\d)$/i.test(when))
      throw new PawlError(
        "bad_input",
        `The time ${when} has no time zone. Add Z for UTC, or an offset: 2026-12-01T08:00Z, 2026-12-01T08:00+01:00.`,
      );
    return { at: when };
  }
  if (when.trim().split(/\s+/).length >= cronFields) return { cron: when };
  throw new PawlError(
    "bad_input",
    `Invalid time ${JSON.stringify(when)}: expected an interval (10m), a time (2026-12-01T08:00Z) or a cron expression ("0 8 * * 1-5").`,
  );
}

export function list({ json }: JsonOption, terminal: Terminal): Promise<number> {
  return withSchedules(async (schedules, store) => {
    let count = 0;
    for (let after = ""; ; ) {
      const page = await schedules.list({ after });
      for (const info of page) {
        count += 1;
        if (json === true) terminal.out(formatJsonLine(terminal.redaction.value(info)));
        else {
          terminal.out(`${formatSchedule(info, await describeLast(store, info.last), terminal)}\n`);
          terminal.out(`  ${truncate(formatTask(info, terminal), Math.max(20, terminal.columns() - 3))}\n`);
        }
      }
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.id;
    }
    if (json !== true) terminal.err(count === 0 ? "There are no schedules.\n" : `${formatCount(count, "schedule")}.\n`);
  });
}

export function show(id: string, { json }: JsonOption, terminal: Terminal): Promise<number> {
  return withSchedules(async (schedules, store) => {
    const info = await schedules.get(id);
    if (info === null) throw createMissingError(id);
    const slots = await schedules.slots(id);
    if (json === true) return terminal.json({ ...info, slots });
    const last = await describeLast(store, findLastRun(slots) ?? info.last);
    terminal.out(`${formatSchedule(info, last, terminal)}\n`);
    terminal.out(`  ${formatTask(info, terminal)}\n`);
    for (const slot of slots) terminal.out(`  ${formatSlot(slot, info.timezone)}\n`);
  });
}

export async function next(given: string, { zone, count, json }: NextOptions, terminal: Terminal): Promise<number> {
  const options = count === undefined ? {} : { count };
  const print = (slots: readonly number[], timezone: string) => {
    for (const slot of slots)
      if (json === true) terminal.out(formatJsonLine({ slot, at: new Date(slot).toISOString(), timezone }));
      else terminal.out(`${formatTime(slot, timezone)}\n`);
  };
  const isId = /^[\w.-]+$/.test(given);
  if (isId && zone !== undefined)
    throw new PawlError("bad_input", `--zone is for cron expressions. The schedule ${given} already has a time zone.`);
  if (isId)
    return withSchedules(async (schedules) => {
      const slots = await schedules.next(given, options);
      print(slots, (await schedules.get(given))?.timezone ?? "UTC");
    });
  // A cron expression needs no store.
  const timezone = zone ?? "UTC";
  const schedule = { id: "next", cron: given, timezone, agent: agentName, input: "-" };
  print(await createSchedules({ store: createMemoryStore() }).next(schedule, options), timezone);
  return exitCodes.done;
}

type Change = "pause" | "resume" | "run-now" | "remove";

export function change(what: Change, id: string, { json }: JsonOption, terminal: Terminal): Promise<number> {
  return withSchedules(async (schedules) => {
    const { result, message } = await applyChange(what, id, schedules);
    if (json === true) terminal.json(result);
    else terminal.out(`${message}\n`);
  });
}

async function applyChange(
  what: Change,
  id: string,
  schedules: Schedules,
): Promise<{ readonly result: object; readonly message: string }> {
  switch (what) {
    case "pause": {
      const result = await schedules.pause(id);
      return { result, message: `${id} is paused. To continue: pawl schedule resume ${id}` };
    }
    case "resume": {
      const result = await schedules.resume(id);
      return { result, message: `${id}: ${describeNext(result)}.` };
    }
    case "run-now": {
      const result = await schedules.runNow(id);
      return { result, message: `Posted to session ${sanitize(result.sessionId)}. A worker drives it.` };
    }
    case "remove": {
      if (await schedules.remove(id)) return { result: { id, removed: true }, message: `${id} is removed.` };
      throw createMissingError(id);
    }
  }
}

function createMissingError(id: string): PawlError {
  return new PawlError("no_schedule", `There is no schedule "${id}". List them: pawl schedule list`);
}

function formatSchedule(info: ScheduleInfo, last: string, { styleOut: style }: Terminal): string {
  const head = `${style("bold", info.id)}  ${describeTimes(info)}  ${sanitize(info.agent)}`;
  return [head, `  ${describeNext(info)}`, ...(last === "" ? [] : [`  ${last}`])].join("\n");
}

function formatTask({ input }: ScheduleInfo, { redaction }: Terminal): string {
  return toOneLine(redaction.text(input.map(textOf).join(" ")));
}

function describeTimes({ when, timezone }: ScheduleInfo): string {
  if ("cron" in when) return `${sanitize(when.cron)} ${timezone}`;
  return "everyMs" in when ? `every ${formatDuration(when.everyMs)}` : "once";
}

function describeNext({ paused, nextAt, timezone }: ScheduleInfo): string {
  if (paused === true) return "paused";
  return nextAt === null ? "no more slots" : `next ${formatTime(nextAt, timezone)}`;
}

/** Finds the newest run, for a slot or on request. `ScheduleInfo.last` omits runs on request. */
function findLastRun(slots: readonly SlotRow[]): PostedRun | undefined {
  for (const { slot, sessionId, runId } of slots)
    if (sessionId !== undefined && runId !== undefined) return { slot, sessionId, runId };
  return undefined;
}

/** The state of the last run. */
async function describeLast(store: Store, last: PostedRun | undefined): Promise<string> {
  if (last === undefined) return "";
  const { sessionId, runId, slot } = last;
  const at = `last ${formatTime(slot, "UTC")}`;
  const isPosted = (await store.inbox(sessionId)).some(({ id }) => id === `run/${runId}`);
  if (isPosted) return `${at}: has not started. Is a worker running?`;
  const summary = await store.describe(sessionId);
  return `${at}: ${summary === null ? "its session was deleted" : `${summary.status} (session ${sanitize(sessionId)})`}`;
}

function formatSlot({ slot, outcome, count, isMinimum, sessionId }: SlotRow, timezone: string): string {
  const times = count === undefined ? "" : ` × ${isMinimum === true ? "at least " : ""}${count}`;
  const session = sessionId === undefined ? "" : `  ${sanitize(sessionId)}`;
  return `${formatTime(slot, timezone)}  ${outcomeNames[outcome]}${times}${session}`;
}

const outcomeNames: { readonly [Outcome in SlotRow["outcome"]]: string } = {
  posted: "run",
  missed: "missed",
  overlap: "skipped: the last run was still in progress",
  manual: "run on request",
};

/** Adds UTC to the schedule's zone, so that a wrong zone is noticed. A time that cannot be formatted must not hide the other schedules. */
function formatTime(time: number, timezone: string): string {
  try {
    const utc = new Date(time).toISOString().replace(".000Z", "Z");
    if (timezone === "UTC") return utc;
    const local = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, dateStyle: "medium", timeStyle: "short" });
    return `${local.format(time)} ${timezone} (${utc})`;
  } catch {
    return `${time} ${sanitize(timezone)}`;
  }
}
