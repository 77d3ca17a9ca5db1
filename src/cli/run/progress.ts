/**
 * Describes the current activity and how long it has taken, as a fold over the items of a stream.
 */
import { type ToolOutput, textOfOutput } from "../../core/index.js";
import type { StreamItem } from "../../index.js";
import { formatDuration, toOneLine, truncate } from "../terminal/text.js";

export type Progress = {
  readonly update: (item: StreamItem, now: number) => void;
  /** A line about the activity that began first; null if that was less than a second ago. */
  readonly line: (now: number) => string | null;
};

/** An activity gets a line once it takes longer than this; milliseconds. */
const patienceMs = 1_000;

type Activity = {
  /** When it begins; it may be in the future. */
  readonly since: number;
  readonly name: string;
};

export type ProgressOptions = {
  /** Whether the model's text is shown while the model writes it. Default: true. */
  readonly showsText?: boolean;
};

type NextAfterFailure = Extract<StreamItem, { readonly type: "attempt_failed" }>["next"];

/** The activity after a failed attempt. */
const namesAfterFailure: { readonly [Next in NextAfterFailure]: (attempt: number) => string } = {
  retry: (attempt) => `attempt ${attempt} of the model call`,
  fallback: () => "the next model",
  compact: () => "summarizing the conversation",
  give_up: () => "ending the run",
};

/** The last line of a call's output so far, which grows while the tool runs. */
function takeLastLine(output: ToolOutput): string {
  const text = textOfOutput(output).slice(-2_000).trimEnd();
  return text.slice(text.lastIndexOf("\n") + 1);
}

export function createProgress({ showsText = true }: ProgressOptions = {}): Progress {
  const calls = new Map<string, Activity>();
  let model: Activity | null = null;

  function update(item: StreamItem, now: number): void {
    switch (item.type) {
      case "run_started":
      case "restarted":
        calls.clear();
        model = { since: now, name: "the model" };
        break;
      case "delta":
        // Text on the screen shows by itself that the model is at work.
        model = item.delta.kind === "text-delta" && showsText ? null : (model ?? { since: now, name: "the model" });
        break;
      case "attempt_failed":
        model = { since: now + (item.retryInMs ?? 0), name: namesAfterFailure[item.next](item.attempt + 1) };
        break;
      case "compacted":
        model = { since: now, name: "the model" };
        break;
      case "step_finished":
        model = null;
        break;
      case "tool_call":
        calls.set(item.callKey, { since: now, name: item.name });
        break;
      case "approval_answered":
        calls.set(item.callKey, { since: now, name: item.name });
        break;
      case "approval_requested":
      case "wait_started":
        calls.delete(item.callKey);
        break;
      case "progress":
        calls.set(item.callKey, { since: calls.get(item.callKey)?.since ?? now, name: item.note });
        break;
      case "tool_failed":
        calls.set(item.callKey, { since: now + item.retryInMs, name: `attempt ${item.attempt + 1} of ${item.name}` });
        break;
      case "preliminary":
        calls.set(item.callKey, { since: calls.get(item.callKey)?.since ?? now, name: takeLastLine(item.output) });
        break;
      case "call_complete":
        calls.delete(item.callKey);
        if (calls.size === 0) model = { since: now, name: "the model" };
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
    if (first === undefined) return null;
    if (first.since > now) return `… ${first.name} in ${formatDuration(first.since - now)}`;
    if (now - first.since < patienceMs) return null;
    const more = activities.length > 1 ? ` and ${activities.length - 1} more` : "";
    return `… ${truncate(toOneLine(first.name), 60)}${more}, ${formatDuration(now - first.since)}`;
  }

  return { update, line };
}
