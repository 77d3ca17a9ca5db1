/**
 * Checks a schedule, and compiles it to the form that the store keeps.
 */
import {
  aBoolean,
  anArray,
  anObject,
  anyValue,
  aString,
  checkOptions,
  integerFrom,
  nonEmptyString,
  numberFrom,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { PawlError } from "../../errors.js";
import { isTimeZone } from "../../platform/calendar.js";
import { isScheduleId } from "../../ports/schedule-store.js";
import { checkSessionId } from "../../runtime/agent/check-run-options.js";
import { hasBlobs, readBlobs } from "../../runtime/agent/input-parts.js";
import { toRunOptions, toUserMessages } from "../../runtime/agent/run-input.js";
import { parseTime, tenYearsMs } from "../../runtime/lib/parse-time.js";
import type { Schedule, ScheduleBody } from "./schedule.js";
import { checkCron, loadCron } from "./slots.js";

/** Every field of every variant. `compileTime` checks that exactly one time is given. */
type AllFields = { readonly [Field in keyof Schedule]?: unknown } & {
  readonly cron?: unknown;
  readonly everyMs?: unknown;
  readonly at?: unknown;
};

const rules: OptionTable<AllFields> = {
  id: anyValue,
  cron: nonEmptyString,
  everyMs: integerFrom(1_000, "milliseconds"),
  at: anyValue,
  timezone: nonEmptyString,
  agent: nonEmptyString,
  input: anyValue,
  session: anyValue,
  overlap: oneOf(
    ...Object.keys({ skip: true, queue: true, allow: true } satisfies Record<ScheduleBody["overlap"], true>),
  ),
  missed: oneOf(...Object.keys({ last: true, all: true, skip: true } satisfies Record<ScheduleBody["missed"], true>)),
  jitterMs: numberFrom(0, 86_400_000),
  startAt: anyValue,
  endAt: anyValue,
  paused: aBoolean,
  principal: nonEmptyString,
  root: nonEmptyString,
  options: anObject,
};

const runOptionRules: OptionTable<NonNullable<Schedule["options"]>> = {
  model: nonEmptyString,
  settings: anObject,
  systemPrompt: aString,
  activeTools: anArray,
  toolChoice: anyValue,
  interactive: aBoolean,
  params: anObject,
};

const maxCronCharacters = 200;

/** @throws PawlError `bad_schedule`, `bad_input` */
export async function compileSchedule(schedule: Schedule, now: number): Promise<ScheduleBody> {
  checkOptions<AllFields>("a schedule", rules, schedule, { code: "bad_schedule" });
  const {
    id,
    agent,
    session = "new",
    overlap = "skip",
    missed = "last",
    jitterMs = 0,
    paused,
    principal,
    root,
  } = schedule;
  checkScheduleId(id);
  if (agent === undefined) throw refuse(id, "`agent` is missing");
  const startAt = toTime(id, "startAt", schedule.startAt);
  const endAt = toTime(id, "endAt", schedule.endAt);
  if (startAt !== undefined && endAt !== undefined && endAt < startAt) throw refuse(id, "`endAt` is before `startAt`");
  checkAhead(id, "startAt", startAt ?? now, now);
  const timezone = schedule.timezone ?? "UTC";
  checkTimeZone(id, timezone);
  const when = await compileTime(schedule, { timezone, now, startAt });
  const isNamed = typeof session === "object" && session !== null;
  if (session !== "new" && session !== "same" && !(isNamed && typeof session.id === "string"))
    throw refuse(id, '`session` must be "new", "same" or { id }');
  if (isNamed) {
    checkOptions<{ readonly id: unknown }>("a schedule's session", { id: anyValue }, session, { code: "bad_schedule" });
    checkSessionId(session.id);
  }
  if (overlap === "queue" && session === "new")
    throw refuse(
      id,
      'overlap "queue" does not work with session "new", because runs of different sessions have no order. Use session "same"',
    );
  if (missed === "all" && overlap === "skip")
    throw refuse(
      id,
      'missed "all" does not work with overlap "skip", because only one of the missed slots would run. Use overlap "queue" or "allow"',
    );
  if (overlap === "allow" && session !== "new")
    throw refuse(id, 'overlap "allow" needs session "new", because a session has one run at a time');
  const given = schedule.input;
  const input = toUserMessages(hasBlobs(given) ? await readBlobs(given) : given);
  if (schedule.options !== undefined)
    checkOptions("a schedule's options", runOptionRules, schedule.options, { code: "bad_schedule" });
  const options = schedule.options === undefined ? undefined : toRunOptions(schedule.options);
  return {
    when,
    timezone,
    agent,
    input,
    session: isNamed ? { id: session.id } : session,
    overlap,
    missed,
    jitterMs,
    ...defined({ startAt, endAt, principal, root, options }),
    ...(paused === true ? { paused } : {}),
  };
}

async function compileTime(
  { id, cron, everyMs, at }: Schedule,
  {
    timezone,
    now,
    startAt = now,
  }: { readonly timezone: string; readonly now: number; readonly startAt?: number | undefined },
): Promise<ScheduleBody["when"]> {
  if ([cron, everyMs, at].filter((one) => one !== undefined).length !== 1)
    throw refuse(id, "give exactly one of `cron`, `everyMs` and `at`");
  const Cron = await loadCron();
  if (cron !== undefined) {
    if (cron.length > maxCronCharacters) throw refuse(id, `\`cron\` has more than ${maxCronCharacters} characters`);
    checkCron(Cron, cron, timezone, now);
    return { cron };
  }
  if (everyMs !== undefined) {
    if (everyMs > tenYearsMs) throw refuse(id, "`everyMs` is more than ten years");
    return { everyMs, from: startAt };
  }
  const time = toTime(id, "at", at) ?? now;
  checkAhead(id, "at", time, now);
  return { at: time };
}

/** @throws PawlError `bad_schedule` */
export function checkScheduleId(id: unknown): asserts id is string {
  if (isScheduleId(id)) return;
  throw new PawlError("bad_schedule", "Invalid schedule `id`: it must be 1 to 100 letters, digits, `_`, `.` or `-`.");
}

function checkTimeZone(id: string, timezone: string): void {
  if (isTimeZone(timezone)) return;
  throw refuse(id, `unknown time zone ${JSON.stringify(timezone.slice(0, 100))}. Use a name such as Europe/Berlin`);
}

function toTime(id: string, field: string, given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const time = parseTime(given);
  if (time === undefined)
    throw refuse(id, `\`${field}\` must be epoch milliseconds, a Date, or an ISO 8601 string with a UTC offset`);
  return time;
}

/** Rejects a time so far ahead that it must be a mistake. Such times could not be displayed either. */
function checkAhead(id: string, field: string, time: number, now: number): void {
  if (time > now + tenYearsMs) throw refuse(id, `\`${field}\` is more than ten years from now`);
}

function refuse(id: string, problem: string): PawlError {
  return new PawlError("bad_schedule", `Invalid schedule "${id}": ${problem}.`);
}
