/**
 * Data of the Evals page: trials by case and variant, and the calls of two logs side by side.
 */
import { isObject } from "../../core/data/is-object.js";
import type { TrialReport } from "../../evals/index.js";
import type { Json, PublicEvent } from "../../index.js";

/** The trials of a case, by variant. */
export type CaseRow = {
  readonly name: string;
  readonly byVariant: ReadonlyMap<string, readonly TrialReport[]>;
};

export function groupTrials(trials: readonly TrialReport[]): readonly CaseRow[] {
  const rows = new Map<string, Map<string, TrialReport[]>>();
  for (const trial of trials) {
    const row = rows.get(trial.case) ?? new Map<string, TrialReport[]>();
    rows.set(trial.case, row);
    row.set(trial.variant, [...(row.get(trial.variant) ?? []), trial]);
  }
  return [...rows].map(([name, byVariant]) => ({ name, byVariant }));
}

/** Distinguishes trials that departed from the recording from trials that a judge failed. */
export function findCellSign({ passed, departure }: TrialReport): "done" | "failed" | "stopped" {
  if (passed) return "done";
  return departure === undefined ? "failed" : "stopped";
}

export type ComparedCall = {
  readonly sessionId: string;
  readonly callKey: string;
  readonly name: string;
  readonly input: Json;
  /** Null if the call has no result. */
  readonly outcome: string | null;
};

/** The calls of a log, in its order. */
export function listCalls(events: readonly PublicEvent[]): readonly ComparedCall[] {
  const calls = new Map<string, ComparedCall>();
  for (const event of events) {
    if (event.type === "tool_call") {
      const { sessionId, callKey, name, input } = event;
      calls.set(callKey, { sessionId, callKey, name, input, outcome: null });
    }
    const call = event.type === "tool_result" ? calls.get(event.callKey) : undefined;
    if (event.type === "tool_result" && call !== undefined)
      calls.set(event.callKey, { ...call, outcome: event.outcome });
  }
  return [...calls.values()];
}

/** A line of the comparison. */
export type CallPair = {
  readonly recorded: ComparedCall | null;
  readonly played: ComparedCall | null;
  /** Whether both are the same call with the same outcome. */
  readonly isSame: boolean;
};

export function compareCalls(recorded: readonly ComparedCall[], played: readonly ComparedCall[]): readonly CallPair[] {
  return Array.from({ length: Math.max(recorded.length, played.length) }, (_, index) => {
    const [one = null, other = null] = [recorded[index], played[index]];
    const isSame = one !== null && other !== null && toKey(one) === toKey(other);
    return { recorded: one, played: other, isSame };
  });
}

function toKey({ name, input, outcome }: ComparedCall): string {
  return `${name} ${sortKeys(input)} ${outcome}`;
}

/** The same string regardless of the order of keys. */
function sortKeys(value: Json): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
}
