/**
 * For every pair of a state and an event: whether the event can apply, comes too late, or shows a misuse of the API.
 *
 * An event that can apply may still be stale: it may name a run, step, attempt or call that is not the current one.
 */
import { deepFreeze } from "../data/freeze.js";
import type { EventType } from "./event.js";
import type { ReservedEventType } from "./reserved-events.js";
import type { Status } from "./state.js";

/** Whether an event of a type can apply in a state. */
export type EventFit = "applies" | "stale" | "misuse";

/** Reserved events change no state in this version. */
const reservedEvents: { readonly [E in ReservedEventType]: "stale" } = {
  rules_changed: "stale",
  process_started: "stale",
  process_finished: "stale",
  files_restoring: "stale",
  files_restored: "stale",
};

const restingEvents = {
  ...reservedEvents,
  late_result: "applies",
  migrated: "applies",
  data_changed: "applies",
  session_changed: "applies",
  content_redacted: "applies",
  session_created: "misuse",
  history_added: "misuse",
  run_started: "applies",
  run_queued: "misuse",
  steered: "misuse",
  prepared: "stale",
  compaction_requested: "stale",
  compaction_started: "stale",
  compacted: "stale",
  model_finished: "stale",
  model_failed: "stale",
  timer_fired: "stale",
  tool_failed: "stale",
  tool_decided: "stale",
  tool_waiting: "stale",
  tool_finished: "stale",
  answered: "stale",
  abort_requested: "stale",
  restarted: "stale",
  run_finished: "stale",
  after_run_hooks_called: "stale",
  parent_notified: "stale",
  parent_told: "stale",
  child_waiting: "stale",
  handed_off: "stale",
  tool_step_started: "stale",
  tool_step_finished: "stale",
  tool_asked: "stale",
} as const;

/**
 * Content is redacted only at rest, because an active run has it in memory.
 *
 * A child session reports the end of a run to its parent with `parent_notified`, so `parent_told` is only for active runs.
 */
const activeEvents = {
  ...restingEvents,
  content_redacted: "misuse",
  run_started: "misuse",
  run_queued: "applies",
  steered: "applies",
  timer_fired: "applies",
  abort_requested: "applies",
  restarted: "applies",
  parent_told: "applies",
  compaction_requested: "applies",
} as const;

/**
 * `run_queued` applies only while the end of the last run is not delivered yet. `abort_requested` applies to queued runs, which do not
 * start by themselves after an abort, and to a compaction that a person requested.
 */
const terminalEvents = {
  ...restingEvents,
  run_queued: "applies",
  abort_requested: "applies",
  restarted: "applies",
  after_run_hooks_called: "applies",
  parent_notified: "applies",
  compaction_requested: "applies",
  compacted: "applies",
} as const;

/** For each status of a session and each type of event, whether the event can apply. */
export const transitionTable: { readonly [S in Status]: { readonly [E in EventType]: EventFit } } = deepFreeze({
  idle: { ...restingEvents, session_created: "applies", history_added: "applies", late_result: "stale" },
  preparing: {
    ...activeEvents,
    prepared: "applies",
    compaction_started: "applies",
    compacted: "applies",
    handed_off: "applies",
    run_finished: "applies",
  },
  model_running: { ...activeEvents, model_finished: "applies", model_failed: "applies" },
  tool_running: {
    ...activeEvents,
    tool_decided: "applies",
    tool_waiting: "applies",
    tool_failed: "applies",
    child_waiting: "applies",
    tool_finished: "applies",
    answered: "applies",
    tool_step_started: "applies",
    tool_step_finished: "applies",
    tool_asked: "applies",
  },
  awaiting_human: {
    ...activeEvents,
    tool_asked: "applies",
    child_waiting: "applies",
    tool_finished: "applies",
    answered: "applies",
    restarted: "stale",
  },
  completed: terminalEvents,
  failed: terminalEvents,
  aborted: terminalEvents,
});
