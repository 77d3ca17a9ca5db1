/**
 * Describes the progress of a run in sentences, for clients that do not show its stream.
 */
import type { ViewChange } from "../view/view-change.js";
import { createCallView } from "./acp/call-view.js";

const maxMessage = 500;

/** Returns a function that takes each change of a run, in order, and returns the message to show, or null. */
export function createProgressText(): (change: ViewChange) => string | null {
  let text = "";
  const read = (change: ViewChange): string | null => {
    switch (change.type) {
      case "part_started":
        text = "";
        return null;
      case "part_grew":
        if (text.length < maxMessage) text += change.text;
        return null;
      case "part_ended":
        return change.kind === "text" && text !== "" ? text : null;
      case "note":
        return change.item.type === "attempt_failed" ? `The model failed: ${change.item.failure.message}` : null;
      case "call_changed":
        if (change.by.type === "tool_call") return createCallView(change.by.name, change.by.input, "").title;
        return change.by.type === "progress" ? change.by.note : null;
      default:
        return null;
    }
  };
  return (change) => read(change)?.slice(0, maxMessage) ?? null;
}
