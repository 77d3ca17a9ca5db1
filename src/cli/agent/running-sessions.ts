/**
 * The sessions whose run has not ended, each below the session that started it, with its current work, start time, cost and process.
 */
import { addUsage, createClient, PawlError, type SessionSummary, type Store } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { findProgress, isUnfinished, type Progress } from "./session-progress.js";

type State = NonNullable<Awaited<ReturnType<Store["load"]>>>["state"];

export type RunningSession = {
  readonly sessionId: string;
  readonly agent: string;
  readonly title: string;
  /** The folder; null if the agent works in none. */
  readonly root: string | null;
  /** The number of listed sessions above it. */
  readonly depth: number;
  readonly progress: Progress;
  /** The open calls, or `model`; empty if unknown. */
  readonly doing: string;
  /** When its run began, in epoch milliseconds; null if it has not. */
  readonly startedAt: number | null;
  readonly tokens: number;
  /** US dollars; null if the price is not known. */
  readonly costUsd: number | null;
  /** The process that drives the session; null if there is none. */
  readonly pid: number | null;
};

/** The sessions of a folder, and how many others there are. */
export type RunningSessions = { readonly shown: readonly RunningSession[]; readonly elsewhere: number };

/** @param root only the sessions of this folder, and what they started; null: of all folders */
export async function listRunningSessions(store: Store, root: string | null): Promise<RunningSessions> {
  const unfinished = (await store.list()).filter(isUnfinished);
  const ids = new Set(unfinished.map(({ sessionId }) => sessionId));
  const below = new Map<string | undefined, SessionSummary[]>();
  for (const summary of unfinished) {
    const parentId = summary.info?.parent?.sessionId;
    const key = parentId !== undefined && ids.has(parentId) ? parentId : undefined;
    below.set(key, [...(below.get(key) ?? []), summary]);
  }
  const listFrom = (summary: SessionSummary, depth: number): readonly (readonly [SessionSummary, number])[] => [
    [summary, depth],
    ...(below.get(summary.sessionId) ?? []).flatMap((child) => listFrom(child, depth + 1)),
  ];
  const tops = (below.get(undefined) ?? []).filter(({ info }) => root === null || info?.root === root);
  const rows = tops.flatMap((top) => listFrom(top, 0));
  const shown = await Promise.all(rows.map(([summary, depth]) => describeSession(store, summary, depth)));
  return { shown, elsewhere: unfinished.length - shown.length };
}

async function describeSession(store: Store, summary: SessionSummary, depth: number): Promise<RunningSession> {
  const { sessionId, info, holder } = summary;
  const state = (await store.load(sessionId))?.state;
  const hasRun = state !== undefined && state.status !== "idle";
  const usage = hasRun ? addUsage({}, state.usage) : {};
  return {
    sessionId,
    agent: info?.agent ?? "",
    title: info?.title ?? "",
    root: info?.root ?? null,
    depth,
    progress: (await isAnswered(store, summary)) ? "answered" : findProgress(summary),
    doing: state === undefined ? "" : describeWork(state),
    startedAt: hasRun ? state.startedAt : null,
    tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
    costUsd: usage.costUsd ?? null,
    pid: holder === null || isHolderDead(holder) ? null : holder.pid,
  };
}

/** Whether the session, or one that it started, waited for a person who has answered, and no process has continued its run since. */
export async function isAnswered(store: Store, summary: SessionSummary): Promise<boolean> {
  const { sessionId, holder } = summary;
  if (findProgress(summary) !== "waits_for_person" || (holder !== null && !isHolderDead(holder))) return false;
  try {
    return (await createClient({ store }).session(sessionId).pendingApprovals()).length === 0;
  } catch (error) {
    // A session of a later version, whose questions this one cannot read.
    if (error instanceof PawlError && error.code === "newer_format") return false;
    throw error;
  }
}

function describeWork(state: State): string {
  switch (state.status) {
    case "model_running":
      return "model";
    case "tool_running":
    case "awaiting_human": {
      const open = state.calls.filter(({ status }) => status !== "done");
      const asked = open.filter(({ status }) => status === "asking");
      const names = (asked.length > 0 ? asked : open).map(({ name }) => name);
      return [...new Set(names)].join(", ");
    }
    case "preparing":
    case "idle":
    case "completed":
    case "failed":
    case "aborted":
      return "";
  }
}
