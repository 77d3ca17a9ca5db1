/**
 * Delayed messages: input that is sent to a session now and posted to it later.
 *
 * 1. A delayed message is a row among the schedules of the store, with a single time. Workers fire it like a schedule.
 * 2. It is posted under the id of its run, which a store accepts once. So a message that is sent or fired twice starts one run.
 */
import { aString, checkOptions, type OptionTable } from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { Json, UserMessage } from "../../core/data/message.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { type Replacement, redactInboxBody } from "../../core/transcript/redact-event.js";
import { PawlError } from "../../errors.js";
import {
  type DelayedBody,
  maxDelayedOfSession,
  requireBody,
  type ScheduleRow,
  type ScheduleStore,
  toDelayedId,
} from "../../ports/schedule-store.js";
import type { Store } from "../../ports/store.js";
import { checkRunId } from "../agent/run-input.js";
import { hashInput } from "../lib/hash.js";
import { createTextRemoval } from "./content-removal.js";
import { cutInput } from "./cut-input.js";
import { readReadableRows } from "./readable-rows.js";

/** Input that will be posted to a session. */
export type ScheduledInput = {
  /** The run that it will start, unless it joins one. */
  readonly runId: string;
  /** When it will be posted, in epoch milliseconds. */
  readonly at: number;
  /** Long input is truncated in lists. */
  readonly input: readonly UserMessage[];
  /** Present if `input` is truncated: the size of the whole input as JSON, in characters. */
  readonly inputSize?: number;
  /** What happens if a run is active at that time. */
  readonly mode: "queue" | "steer" | "interrupt";
  /** Who sent it. */
  readonly by?: string;
};

/** Options of `scheduled`. */
export type ScheduledOptions = {
  /** Only the message with this run id, with its whole input. Default: all messages. */
  readonly runId?: string;
};

const scheduledRules: OptionTable<ScheduledOptions> = { runId: aString };

/** Delayed messages of a session. */
export type Delayed = {
  /**
   * Input that was sent with `at` or `afterMs` and has not been posted yet, soonest first. Long input is truncated, except with `runId`. A
   * message that the store cannot read is omitted: `scheduled({ runId })` throws the reason, a worker reports it when the message is due,
   * and `unsend` removes the message.
   * @throws PawlError `bad_input`, `store_lacks`
   */
  readonly scheduled: (options?: ScheduledOptions) => Promise<readonly ScheduledInput[]>;
  /**
   * Withdraws a delayed message by its run id. `too_late`: it has already been posted. `unknown`: there is no such message.
   * @throws PawlError `bad_input`, `store_lacks`
   */
  readonly unsend: (runId: string) => Promise<"unsent" | "too_late" | "unknown">;
};

/** @throws PawlError `store_lacks` */
export function requireSchedules({ schedules }: Pick<Store, "schedules">): ScheduleStore {
  if (schedules !== undefined) return schedules;
  throw new PawlError(
    "store_lacks",
    "This store does not support schedules: it has no member `schedules`. Use one of Pawl's stores, or add that member to your own.",
  );
}

type InputBody = Extract<InboxBody, { readonly type: "input" }>;

/** Stores the message until its time. False if it was sent before. @throws PawlError `schedule_full`, `store_lacks` */
export async function sendLater(
  store: Store,
  sessionId: string,
  { message, at }: { readonly message: InputBody; readonly at: number },
): Promise<boolean> {
  const rows = requireSchedules(store);
  if (await isPosted(store, sessionId, message.runId)) return false;
  const body: DelayedBody = { message };
  const id = toDelayedId(sessionId, message.runId);
  const put = await rows.put({ id, rev: 1, slot: at, dueAt: at, sessionId, body: body as unknown as Json });
  if (put.type === "full")
    throw new PawlError(
      "schedule_full",
      `Session ${sessionId} has ${maxDelayedOfSession} delayed messages, which is the maximum. Withdraw some with unsend().`,
    );
  return put.type === "ok";
}

export function createDelayed(sessionId: string, { store }: { readonly store: Store }): Delayed {
  return {
    async scheduled(options = {}) {
      checkOptions("scheduled()", scheduledRules, options, { code: "bad_input" });
      const rows = requireSchedules(store);
      const { runId } = options;
      if (runId !== undefined) {
        checkRunId(runId);
        const row = await rows.get(toDelayedId(sessionId, runId));
        return deepFreeze(row === null ? [] : [toScheduledInput(row)]);
      }
      const inputs: ScheduledInput[] = [];
      for await (const row of readReadableRows(rows, { sessionId })) {
        const scheduled = toScheduledInput(row);
        inputs.push({ ...scheduled, ...cutInput(scheduled.input) });
      }
      return deepFreeze(inputs.sort((a, b) => a.at - b.at));
    },
    async unsend(runId) {
      checkRunId(runId);
      const isRemoved = await requireSchedules(store).remove(toDelayedId(sessionId, runId));
      // The run may also have been requested without a delay, or the message stored again by an import that continues.
      if (await isPosted(store, sessionId, runId)) return "too_late";
      return isRemoved ? "unsent" : "unknown";
    },
  };
}

/** @throws the row's `error` */
function toScheduledInput(row: ScheduleRow): ScheduledInput {
  const { message } = requireBody(row) as unknown as DelayedBody;
  const { runId, input, by } = message;
  const mode = message.interrupts === true ? "interrupt" : message.mode;
  return { runId, at: row.slot ?? 0, input, mode, ...defined({ by }) };
}

/**
 * Masks strings in the delayed messages of a session, as in its log. A message that is posted meanwhile starts a run, and a session with a
 * run in progress is not redacted.
 */
export async function redactDelayed(store: Store, sessionId: string, texts: readonly string[]): Promise<void> {
  const { schedules } = store;
  if (schedules === undefined || texts.length === 0) return;
  const removal: Replacement = { ...createTextRemoval(texts), blobs: new Map(), hashes: new Map(), hashInput };
  for (const { id } of await schedules.list({ sessionId, limit: maxDelayedOfSession }))
    while (!(await redactRow(schedules, id, removal)));
}

/** False if the row was changed meanwhile. */
async function redactRow(schedules: ScheduleStore, id: string, removal: Replacement): Promise<boolean> {
  const row = await schedules.get(id);
  if (row === null) return true;
  const { rev, slot, dueAt, sessionId } = row;
  const { message } = requireBody(row) as unknown as DelayedBody;
  const redacted = redactInboxBody(message, removal);
  if (redacted === message) return true;
  const body = { message: redacted } as unknown as Json;
  const put = await schedules.put({ id, rev: rev + 1, slot, dueAt, body, ...defined({ sessionId }) }, { slot });
  return put.type === "ok";
}

/** Whether the message of this run has been posted to the session, consumed or not. */
async function isPosted(store: Store, sessionId: string, runId: string): Promise<boolean> {
  const wanted = `run/${runId}`;
  const prefix = [...wanted].slice(0, -1).join("");
  for (let after = prefix; ; ) {
    const ids = await store.messageIds(sessionId, { after, limit: idsPerPage });
    if (ids.includes(wanted)) return true;
    const last = ids.at(-1);
    if (last === undefined || ids.length < idsPerPage || !last.startsWith(prefix)) return false;
    after = last;
  }
}

const idsPerPage = 100;
