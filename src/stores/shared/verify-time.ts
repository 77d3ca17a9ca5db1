/**
 * Looking for damage outside the logs: in notices, schedules, delayed messages and signals.
 */
import { defined } from "../../core/data/defined.js";
import { PawlError } from "../../errors.js";
import type { NoticeStore } from "../../ports/notice-store.js";
import type { ScheduleStore } from "../../ports/schedule-store.js";
import type { Signal, SignalStore } from "../../ports/signal.js";
import type { StoreProblem } from "../../ports/store.js";

type TimeStores = { readonly notices: NoticeStore; readonly schedules: ScheduleStore; readonly signals: SignalStore };

const pageSize = 100;

/** @param onlySession its notices and delayed messages alone; null: everything */
export async function findTimeProblems(
  { notices, schedules, signals }: TimeStores,
  onlySession: string | null,
): Promise<readonly StoreProblem[]> {
  const problems: StoreProblem[] = [];
  await collectDamage(problems, () => checkNotices(notices, onlySession, problems));
  if (onlySession === null) await checkDestinations(notices, problems);
  if (onlySession === null) await collectDamage(problems, () => checkSchedules(schedules, {}, problems));
  const delayed = onlySession === null ? { isDelayed: true } : { sessionId: onlySession };
  await collectDamage(problems, () => checkSchedules(schedules, delayed, problems));
  if (onlySession === null) await collectDamage(problems, () => readSignals(signals));
  return problems;
}

async function checkNotices(notices: NoticeStore, onlySession: string | null, problems: StoreProblem[]): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await notices.list({ after, limit: pageSize });
    for (const { sessionId, notice, error = "A notice cannot be read." } of rows)
      if (notice === null && (onlySession === null || onlySession === sessionId))
        problems.push({ sessionId, what: error });
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    after = last.number;
  }
}

async function checkDestinations(notices: NoticeStore, problems: StoreProblem[]): Promise<void> {
  for (const { id, body } of await notices.destinations())
    if (body === null) problems.push({ sessionId: null, what: `The destination ${id} of notices cannot be read.` });
}

async function checkSchedules(
  schedules: ScheduleStore,
  filter: { readonly sessionId?: string; readonly isDelayed?: boolean },
  problems: StoreProblem[],
): Promise<void> {
  for (let after = ""; ; ) {
    const rows = await schedules.list({ ...filter, after, limit: pageSize });
    for (const { sessionId = null, error } of rows)
      if (error !== undefined) problems.push({ sessionId, what: error.message });
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    after = last.id;
  }
}

/** Reading them checks them. @throws PawlError `store_corrupt` */
async function readSignals(signals: SignalStore): Promise<void> {
  for (let after: Signal | undefined; ; ) {
    const page = await signals.list(0, { limit: pageSize, ...defined({ after }) });
    after = page.at(-1);
    if (page.length < pageSize) return;
  }
}

/** Damage becomes a problem; anything else is thrown. */
async function collectDamage(problems: StoreProblem[], check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== "store_corrupt") throw error;
    problems.push({ sessionId: null, what: error.message });
  }
}
