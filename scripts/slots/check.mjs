/**
 * The checks of the kill test of schedules, when everything is at rest: one run for each slot, and one signal and a whole sleep for each run.
 */
import { everyMs, runAtOnce } from "./edits.mjs";

/**
 * Checks that the rows of a schedule account for each of its slots once. Slots are left out only while it was paused, and are missed only if
 * as many newer ones were due as run at once, by the clock of the process that counted them.
 * @param rows the outcomes of its slots, in any order
 * @param {{ id: string, from: number, to: number, gaps: readonly { since: number, until: number }[], fail: (what: string) => void }} given
 *   `from`: the first slot; `to`: when the schedule ended
 */
export function checkSlots(rows, { id, from, to, gaps, fail }) {
  const every = everyMs[id];
  const isInGap = (slot) => gaps.some(({ since, until }) => slot > since && slot <= until);
  let next = from;
  const skipTo = (slot) => {
    for (; next < slot; next += every)
      if (!isInGap(next)) fail(`${id}: the slot ${new Date(next).toISOString()} neither ran nor was missed`);
  };
  for (const { slot, outcome, at, count = 1, isMinimum } of rows.toSorted((a, b) => a.slot - b.slot)) {
    const first = slot - (count - 1) * every;
    if ((slot - from) % every !== 0) fail(`${id}: there is no slot ${new Date(slot).toISOString()}`);
    if (outcome === "overlap") fail(`${id}: the slot ${new Date(slot).toISOString()} was skipped for an overlap`);
    if (outcome === "missed" && at - slot < runAtOnce[id] * every)
      fail(
        `${id}: the slot ${new Date(slot).toISOString()} was missed ${at - slot} ms later, and would still have run`,
      );
    if (isMinimum === true) next = Math.max(next, first);
    else skipTo(first);
    if (first < next) fail(`${id}: the slot ${new Date(first).toISOString()} has two outcomes`);
    next = slot + every;
  }
  skipTo(Math.floor(to / every) * every);
}

/** What the tool of a worker of an earlier version gives, which acts and neither sleeps nor waits. */
export const earlierOutput = "Served by an earlier version.";

/**
 * @returns what the session's log says about when it acted, and how late its sleep ended, which is null if an earlier version served it;
 *   undefined if it has not done all of it
 */
export async function checkSession(store, sessionId, fail) {
  const events = (await store.read(sessionId)).map(({ event }) => event);
  const count = (isMeant) => events.filter(isMeant).length;
  const runs = count(({ type }) => type === "run_started");
  const signals = count(({ answerId = "" }) => answerId.startsWith("signal/"));
  const isOfEarlier = events.some((event) => event.type === "tool_finished" && event.output?.text === earlierOutput);
  if (runs !== 1) fail(`${sessionId} has ${runs} runs`);
  if (signals !== (isOfEarlier ? 0 : 1)) fail(`${sessionId} got ${signals} signals`);
  const slept = events.find(({ type, ...event }) => type === "tool_asked" && event.for === "time");
  const woken = events.find(({ type, questionId }) => type === "timer_fired" && questionId === slept?.step);
  const acted = events.find(({ type, step }) => type === "tool_step_finished" && step === "act");
  if (isOfEarlier && slept === undefined && acted !== undefined) return { acted: acted.at, late: null };
  if (slept === undefined || woken === undefined || acted === undefined)
    return void fail(`${sessionId} did not act and sleep`);
  if (woken.at < slept.expiresAt) fail(`${sessionId} slept ${slept.expiresAt - woken.at} ms too little`);
  return { acted: acted.at, late: woken.at - slept.expiresAt };
}
