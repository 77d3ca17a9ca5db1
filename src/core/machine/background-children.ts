/**
 * Child sessions in the background: the parent continues without waiting for them.
 *
 * 1. The result of the call records the child (`startedChild`). The message that it has ended (`finishedChild`) removes it, and its
 *    usage counts for the run that gets the message.
 * 2. While the child works, its share of the parent's budgets is kept for it, across runs.
 * 3. Its questions and sleeps are not reported to the parent: code that lists the questions of a family reads the child's state.
 */
import type { Event, EventOf } from "./event.js";
import { type BackgroundChild, callOf, formatVersion, type RunState, type State } from "./state.js";

/** Adds the child that a call has started. From then on, the session has the format that knows such children. */
export function addBackgroundChild<Run extends RunState>(
  run: Run,
  name: string,
  { callKey, startedChild }: EventOf<"tool_finished">,
): Run {
  if (startedChild === undefined) return run;
  const { childId, reservedTokens, reservedCostUsd } = startedChild;
  const child: BackgroundChild = {
    callKey,
    name,
    childId,
    ...(reservedTokens === undefined ? {} : { reservedTokens }),
    ...(reservedCostUsd === undefined ? {} : { reservedCostUsd }),
  };
  const { background = [] } = run;
  const others = background.filter((one) => one.callKey !== callKey);
  // The report of a child may come before the entry of its start: another process drives the child.
  const hasEnded = others.length < background.length;
  return withBackground({ ...run, v: formatVersion }, hasEnded ? others : [...others, child]);
}

/** Removes the child whose end an event reports. */
export function removeFinishedChild<Before extends State>(
  state: Before,
  { finishedChild }: Pick<EventOf<"steered">, "finishedChild">,
): Before {
  if (finishedChild === undefined) return state;
  const { callKey, childId } = finishedChild;
  const left = (state.background ?? []).filter((child) => child.callKey !== callKey);
  const call = callOf(state, callKey);
  if (call === undefined || call.status === "done") return withBackground(state, left);
  const ended: BackgroundChild = { callKey, name: call.name, childId, ended: true };
  return withBackground({ ...state, v: formatVersion }, [...left, ended]);
}

function withBackground<Before extends State | RunState>(state: Before, children: readonly BackgroundChild[]): Before {
  const { background: _, ...rest } = state;
  return (children.length === 0 ? rest : { ...rest, background: children }) as Before;
}

/** The children in the background that may be at work. */
export function findBackgroundChildren({ background = [] }: Pick<State, "background">): readonly BackgroundChild[] {
  return background.filter(({ ended }) => ended !== true);
}

/** Counts a child session that a call of this run has started, if that is limited. Logs without the limit fold as before. */
export function countChild<Run extends RunState>(run: Run): Run {
  if (run.limits.maxChildren === undefined) return run;
  return { ...run, counters: { ...run.counters, children: (run.counters.children ?? 0) + 1 } };
}

/** Whether the event is the first to show that a call has started a child session. */
export function startsChild(event: Event, isRunning: boolean): boolean {
  if (event.type === "tool_waiting") return event.on === "child";
  if (event.type !== "tool_finished" || !isRunning) return false;
  // The report of a child may come before the entry that its parent waits.
  return event.startedChild !== undefined || event.usage !== undefined;
}

/** The part of a budget that is reserved for children in the background. */
export function sumReserved(
  background: readonly BackgroundChild[] | undefined,
  field: "reservedTokens" | "reservedCostUsd",
): number {
  return background === undefined ? 0 : background.reduce((sum, child) => sum + (child[field] ?? 0), 0);
}
