/**
 * `remindMe()`: lets the model send a message to its own conversation later.
 */
import {
  aBoolean,
  anObject,
  checkOptions,
  nonEmptyString,
  numberFrom,
  type OptionTable,
  required,
} from "../check-options.js";
import { type Json, textOf, type UserMessage } from "../core/data/message.js";
import type { State } from "../core/machine/state.js";
import { PawlError } from "../errors.js";
import { isCalendarDay, isTimeZone } from "../platform/calendar.js";
import { sha256 } from "../platform/hash.js";
import type { Clock } from "../ports/clock.js";
import type { AnyTool, ToolContext } from "../ports/tool.js";
import { defineTool } from "./lib/define-tool.js";

/** The part of a session that reminders use. */
export type ReminderSession = {
  /** As in `ClientSession`. */
  readonly send: (
    input: string,
    options: { readonly at: number; readonly runId: string; readonly by: string },
  ) => Promise<{ readonly isNew: boolean }>;
  /** As in `ClientSession`. */
  readonly scheduled: () => Promise<
    readonly {
      readonly runId: string;
      readonly at: number;
      readonly input: readonly UserMessage[];
      readonly by?: string;
    }[]
  >;
  /** As in `ClientSession`. */
  readonly unsend: (runId: string) => Promise<"unsent" | "too_late" | "unknown">;
  /** As in `ClientSession`. */
  readonly state: () => Promise<State>;
};

/** The options of `remindMe`. */
export type RemindMeOptions = {
  /** A client of the agent's store: `createClient({ store })`. A worker of that store sends the reminders. */
  readonly client: {
    /** A session of the store. */
    readonly session: (sessionId: string) => ReminderSession;
  };
  /** The time zone of times without an offset: a name of the IANA database. Default: UTC. */
  readonly timezone?: string;
  /** How far ahead a reminder may be, in milliseconds. Default: 30 days. */
  readonly maxAheadMs?: number;
  /** The maximum number of reminders of a session that have not been sent. Default: 10. */
  readonly maxOpen?: number;
  /** Whether a person must approve each reminder. Default: true. */
  readonly needsApproval?: boolean;
  /** For tests. Default: the system's clock. */
  readonly clock?: Pick<Clock, "now">;
};

const optionRules: OptionTable<RemindMeOptions> = {
  client: required(anObject),
  timezone: nonEmptyString,
  maxAheadMs: numberFrom(1_000),
  maxOpen: numberFrom(1, 1_000),
  needsApproval: aBoolean,
  clock: anObject,
};

const inputSchema = {
  type: "object",
  properties: {
    action: { type: "string", enum: ["set", "list", "cancel"], description: "Default: set." },
    note: { type: "string", minLength: 1, maxLength: 2_000, description: "What you will need to know at that time." },
    at: {
      type: "string",
      minLength: 1,
      maxLength: 40,
      description:
        "When, as 2026-11-30T09:00 or with an offset, 2026-11-30T09:00:00+01:00. Give either at or in_minutes.",
    },
    in_minutes: { type: "number", minimum: 1, description: "The number of minutes from now." },
    id: { type: "string", minLength: 1, maxLength: 100, description: "The reminder to cancel." },
  },
  additionalProperties: false,
} as const;

/** Marks the reminders among the delayed messages of a session. */
const sender = "remind_me";

/**
 * A tool `remind_me`. The model can set a reminder, which reaches the same session as a user message at its time, list its
 * reminders, and cancel them. A worker of the store sends them.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * const store = await openSqliteStore({ path: "sessions.db" });
 * const tools = [remindMe({ client: createClient({ store }), timezone: "Europe/Berlin" })];
 * ```
 */
export function remindMe(options: RemindMeOptions): AnyTool {
  checkOptions("remindMe()", optionRules, options);
  const { timezone = "UTC", needsApproval = true } = options;
  // Checking a time zone takes milliseconds in a new process, which needs none for UTC.
  if (options.timezone !== undefined && !isTimeZone(timezone))
    throw new PawlError(
      "bad_configuration",
      `The option timezone of remindMe() is ${JSON.stringify(timezone)}; it must be a name of the IANA database, such as "Europe/Berlin".`,
    );
  return defineTool({
    name: "remind_me",
    lenientInput: true,
    description: `Sends a message to this conversation later, so that you can continue at that time. Times without an offset are in ${timezone}. List and cancel your reminders with action.`,
    input: inputSchema,
    sequential: true,
    // The id of a reminder is derived from the call, so a call that runs again does not create a second reminder.
    recover: "rerun",
    needsApproval: ({ action = "set" }) => needsApproval && action === "set",
    execute: (input, context) => act(input, context, options),
  });
}

async function act(
  input: { readonly [name: string]: Json },
  context: ToolContext,
  options: RemindMeOptions,
): Promise<string> {
  const session = options.client.session(context.sessionId);
  switch (input.action ?? "set") {
    case "list": {
      const reminders = await listReminders(session);
      if (reminders.length === 0) return "There are no reminders.";
      return reminders
        .map(({ runId, at, input }) => `${runId}: ${formatTime(at, options)}: ${input.map(textOf).join(" ")}`)
        .join("\n");
    }
    case "cancel":
      return cancel(session, input.id);
    default:
      return set(session, input, context, options);
  }
}

async function listReminders(session: ReminderSession) {
  return (await session.scheduled()).filter(({ by }) => by === sender);
}

async function cancel(session: ReminderSession, id: Json | undefined): Promise<string> {
  if (typeof id !== "string")
    throw new Error("Missing id: give the id of the reminder. The action list shows the ids.");
  const isOwn = (await listReminders(session)).some(({ runId }) => runId === id);
  if (!isOwn || (await session.unsend(id)) !== "unsent")
    throw new Error(`There is no reminder ${id}. It may have been sent already.`);
  return `The reminder ${id} is cancelled.`;
}

async function set(
  session: ReminderSession,
  { note, at: time, in_minutes: minutes }: { readonly [name: string]: Json },
  { sessionId, idempotencyKey }: ToolContext,
  options: RemindMeOptions,
): Promise<string> {
  const { maxAheadMs = 30 * 86_400_000, maxOpen = 10 } = options;
  if (typeof note !== "string") throw new Error("Missing note: say what you will need to know at that time.");
  const runId = `reminder-${sha256(`${sessionId}\n${idempotencyKey}`).slice(0, 12)}`;
  const reminders = await listReminders(session);
  const stored = reminders.find((reminder) => reminder.runId === runId);
  // The call runs again: "in ten minutes" would now be a different time from the stored one.
  if (stored !== undefined) return `The reminder ${runId} is set for ${formatTime(stored.at, options)}.`;
  const now = (options.clock ?? Date).now();
  const at = await parseTime(time, minutes, now, options);
  if (at <= now) throw new Error(`${formatTime(at, options)} is in the past. It is ${formatTime(now, options)}.`);
  if (at > now + maxAheadMs)
    throw new Error(
      `${formatTime(at, options)} is too far ahead. The latest possible time is ${formatTime(now + maxAheadMs, options)}.`,
    );
  if ((await session.state()).session?.parent !== undefined)
    throw new Error("Only the agent that the person talks to can set reminders. Ask that agent to set this one.");
  if (reminders.length >= maxOpen)
    throw new Error(`There are already ${reminders.length} reminders, the maximum. Cancel one first.`);
  const setAt = new Date(now).toISOString();
  const text = `Reminder that you set on ${setAt.slice(0, 10)} ${setAt.slice(11, 16)} UTC: ${note}`;
  const { isNew } = await session.send(text, { at, runId, by: sender });
  if (!isNew) return `The reminder ${runId} was set before, and has been sent.`;
  return `The reminder ${runId} is set for ${formatTime(at, options)}.`;
}

async function parseTime(
  time: Json | undefined,
  minutes: Json | undefined,
  now: number,
  { timezone = "UTC" }: RemindMeOptions,
): Promise<number> {
  if ((time === undefined) === (minutes === undefined)) throw new Error("Give either at or in_minutes.");
  if (typeof minutes === "number") return Math.ceil(now + minutes * 60_000);
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::(\d\d))?(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(String(time));
  if (parts === null) throw new Error(`${JSON.stringify(time)} is not a time. Write it as 2026-11-30T09:00.`);
  const [, day = "", clock, seconds = "00", offset] = parts;
  if (!isCalendarDay(day)) throw new Error(`There is no day ${day}.`);
  const local = `${day}T${clock}:${seconds}`;
  const at = offset === undefined ? await parseLocal(local, timezone) : new Date(`${local}${offset}`).getTime();
  if (Number.isNaN(at)) throw new Error(`${JSON.stringify(time)} is not a time. Write it as 2026-11-30T09:00.`);
  return at;
}

/** NaN for a date that does not exist. A time that daylight saving skips becomes the first one after the gap. */
async function parseLocal(local: string, timezone: string): Promise<number> {
  const { Cron } = await import("croner");
  try {
    return new Cron(local, { timezone, paused: true }).nextRun(new Date(0))?.getTime() ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** Formats a time in full, so that the model can notice a mistake. */
function formatTime(time: number, { timezone = "UTC" }: RemindMeOptions): string {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, dateStyle: "full", timeStyle: "short" });
  return `${format.format(time)} ${timezone} (${new Date(time).toISOString()})`;
}
