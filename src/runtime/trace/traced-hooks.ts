/**
 * The hooks of an event in the form of a trace.
 */
import type { Event, HookRecord } from "../../core/machine/event.js";
import type { TracedHook } from "../../ports/trace.js";
import type { Redact } from "../observers/redact.js";

/** Derives when each hook ran: hooks run one after another, and the event is created when the last hook has returned. */
export function traceHooks(event: Event, redact: Redact): readonly TracedHook[] {
  const { hooks = [], at } = event;
  const callKey = "callKey" in event && event.callKey !== undefined ? { callKey: event.callKey } : {};
  let endedAt = at;
  return hooks
    .toReversed()
    .map((record) => {
      const startedAt = endedAt - record.ms;
      endedAt = startedAt;
      return { ...pickHookFields(record, redact), startedAt, durationMs: record.ms, ...callKey };
    })
    .reverse();
}

function pickHookFields({ name, hook, outcome, message }: HookRecord, redact: Redact) {
  return { name, hook, outcome, ...(message === undefined ? {} : { message: redact(message) }) };
}
