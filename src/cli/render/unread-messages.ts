/**
 * Counts the person's messages to a run that no model call has got: the run may be stopped before its next call.
 */
import { findLogEvent, type ViewChange } from "../../view/view-change.js";

export type UnreadMessages = {
  readonly apply: (change: ViewChange) => void;
  readonly count: () => number;
};

export function createUnreadMessages(): UnreadMessages {
  let isModelAtWork = false;
  /** Messages that came during the current model call, which does not have them. */
  let held = 0;
  let unread = 0;
  const calls = new Set<string>();

  function apply(change: ViewChange): void {
    if (change.type === "step_started") unread = 0;
    const event = findLogEvent(change);
    switch (event?.type) {
      case "run_started":
        [isModelAtWork, held, unread] = [true, 0, 0];
        calls.clear();
        break;
      case "steered":
        if (event.source !== "user" || event.finishedChild !== undefined) break;
        if (isModelAtWork) held++;
        else unread++;
        break;
      case "step_finished":
        [isModelAtWork, held, unread] = [false, 0, unread + held];
        break;
      case "tool_call":
        calls.add(event.callKey);
        break;
      case "call_complete":
        calls.delete(event.callKey);
        isModelAtWork = calls.size === 0;
        break;
      case "restarted":
        isModelAtWork = true;
        break;
      default:
        break;
    }
  }

  return { apply, count: () => unread + held };
}

/** Says what becomes of messages that a run did not get. */
export function formatUnread(count: number): string {
  return count === 1
    ? "The model has not read your last message. It is in the conversation, and the model gets it with your next one."
    : `The model has not read your last ${count} messages. They are in the conversation, and the model gets them with your next one.`;
}
