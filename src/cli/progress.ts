/**
 * What is under way and for how long: a fold over the items of a stream.
 */
import type { StreamItem } from "../index.js";
import { cut, duration, oneLine } from "./text.js";

export type Progress = {
  readonly see: (item: StreamItem, now: number) => void;
  /** What has gone on for so long that it is worth a line; null where nothing has. */
  readonly line: (now: number) => string | null;
};

/** Anything that takes longer gets a line; milliseconds. */
const patienceMs = 1_000;

type Activity = { readonly since: number; readonly what: string; readonly until?: number };

export function createProgress(): Progress {
  const calls = new Map<string, Activity>();
  let model: Activity | null = null;

  function see(item: StreamItem, now: number): void {
    switch (item.type) {
      case "run_started":
      case "restarted":
        calls.clear();
        model = { since: now, what: "the model" };
        break;
      case "delta":
        // Text shows by itself that something goes on.
        model = item.delta.kind === "text-delta" ? null : (model ?? { since: now, what: "the model" });
        break;
      case "attempt_failed":
        model =
          item.retryInMs === undefined ? null : { since: now, what: "the next attempt", until: now + item.retryInMs };
        break;
      case "step_finished":
        model = null;
        break;
      case "tool_call":
        calls.set(item.callKey, { since: now, what: item.name });
        break;
      case "approval_answered":
        calls.set(item.callKey, { since: now, what: item.name });
        break;
      case "approval_requested":
        calls.delete(item.callKey);
        break;
      case "progress":
        calls.set(item.callKey, { since: calls.get(item.callKey)?.since ?? now, what: item.note });
        break;
      case "call_complete":
        calls.delete(item.callKey);
        if (calls.size === 0) model = { since: now, what: "the model" };
        break;
      case "suspended":
      case "final":
        calls.clear();
        model = null;
        break;
      default:
        break;
    }
  }

  function line(now: number): string | null {
    const activities = [...calls.values(), ...(model === null ? [] : [model])];
    const [first] = activities;
    if (first === undefined || now - first.since < patienceMs) return null;
    const left = first.until === undefined ? null : first.until - now;
    if (left !== null && left > 0) return `… ${first.what} in ${duration(left)}`;
    const more = activities.length > 1 ? ` and ${activities.length - 1} more` : "";
    return `… ${cut(oneLine(first.what), 60)}${more}, ${duration(now - first.since)}`;
  }

  return { see, line };
}
