/**
 * The sessions whose run has not ended, each below the one that started it: what it does now, since when, at what cost, and where.
 */
import { addUsage, type SessionSummary, type Store } from "../../index.js";
import { isHolderDead } from "../../inspect.js";

type State = NonNullable<Awaited<ReturnType<Store["load"]>>>["state"];

export type RunningSession = {
  readonly sessionId: string;
  readonly agent: string;
  readonly title: string;
  /** The folder; null if the agent works in none. */
  readonly root: string | null;
  /** How many sessions are above it. */
  readonly depth: number;
  /** `waits_for_person`: for an answer. `waits`: for a time, a signal, a result or another agent. `interrupted`: nobody drives it. */
  readonly progress: "running" | "waits_for_person" | "waits" | "interrupted";
  /** The calls that it is about, or the model; empty if that is not known. */
  readonly doing: string;
  /** When its run began, in epoch milliseconds; null if it has not. */
  readonly startedAt: number | null;
  readonly tokens: number;
  /** US dollars; null if the price is not known. */
  readonly costUsd: number | null;
  /** The process that drives it; null if none does. */
  readonly pid: number | null;
};

/** @param root only the sessions of this folder, and what they started; null: of all folders */
export async function listRunningSessions(store: Store, root: string | null): Promise<readonly RunningSession[]> {
  const unfinished = (await store.list()).filter(({ activity, inbox }) => activity !== "resting" || inbox > 0);
  const byId = new Map(unfinished.map((summary) => [summary.sessionId, summary]));
  const parentOf = ({ info }: SessionSummary) => byId.get(info?.parent?.sessionId ?? "");
  const isShown = (summary: SessionSummary): boolean => {
    const parent = parentOf(summary);
    return parent === undefined ? root === null || summary.info?.root === root : isShown(parent);
  };
  const listBelow = (
    parent: SessionSummary | undefined,
    depth: number,
  ): readonly (readonly [SessionSummary, number])[] =>
    unfinished
      .filter((summary) => parentOf(summary) === parent && isShown(summary))
      .flatMap((summary) => [[summary, depth] as const, ...listBelow(summary, depth + 1)]);
  return Promise.all(listBelow(undefined, 0).map(async ([summary, depth]) => describeSession(store, summary, depth)));
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
    progress: findProgress(summary),
    doing: state === undefined ? "" : describeWork(state),
    startedAt: hasRun ? state.startedAt : null,
    tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
    costUsd: usage.costUsd ?? null,
    pid: holder === null || isHolderDead(holder) ? null : holder.pid,
  };
}

function findProgress({ status, activity, holder, inbox }: SessionSummary): RunningSession["progress"] {
  if (status === "awaiting_human") return "waits_for_person";
  if (holder !== null && !isHolderDead(holder)) return "running";
  return activity === "waiting" && inbox === 0 ? "waits" : "interrupted";
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
