/**
 * Effects: the work that should be in flight. An effect is a value with a stable key. The driver starts effects that
 * are wanted and not running, and signals effects that are running and no longer wanted. Each effect settles with one
 * event.
 */
import type { ChildSleep } from "./call-state.js";
import type { Timer } from "./event.js";

type ParentCall = {
  readonly sessionId: string;
  readonly callKey: string;
  /** The parent does not wait. */
  readonly background?: true;
};

/** Work that a state wants in flight. It settles with one event. */
export type Effect =
  /** The next model call is prepared: compaction and hooks. */
  | { readonly type: "prepare"; readonly key: string; readonly runId: string }
  /** A summary is made. */
  | { readonly type: "compact"; readonly key: string; readonly runId: string }
  /** A model is called. */
  | {
      readonly type: "call_model";
      readonly key: string;
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
    }
  /** The end of the run is prepared: hooks and the shape of the answer. */
  | { readonly type: "finish"; readonly key: string; readonly runId: string }
  /** The agent that has the session finishes its step and passes the session on. */
  | { readonly type: "hand_over"; readonly key: string; readonly runId: string }
  /** A call is checked. */
  | { readonly type: "decide"; readonly key: string; readonly runId: string; readonly callKey: string }
  /** A tool runs. */
  | {
      readonly type: "run_tool";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      readonly attempt: number;
    }
  /** It is found out what became of a call. */
  | {
      readonly type: "reconcile";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      readonly attempt: number;
    }
  /**
   * Waits until `until` (epoch milliseconds). If `ms` is present, the wait is no longer than that, even if the clock
   * jumps.
   */
  | {
      readonly type: "sleep";
      readonly key: string;
      readonly runId: string;
      /** Which timer it is. */
      readonly timer: Timer;
      /** When it fires, in epoch milliseconds. */
      readonly until: number;
      /** The length of the wait, in milliseconds, if it is a backoff. */
      readonly ms?: number;
      readonly callKey?: string;
      readonly attempt?: number;
      /** The question of a tool that expires. */
      readonly questionId?: string;
    }
  /** A child session is aborted. */
  | {
      readonly type: "cancel_child";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      /** The tool that runs the child's agent. */
      readonly name: string;
      readonly childId: string;
    }
  /** Tells the parent session whether this child waits for a person, as of its entry `seq`. */
  | {
      readonly type: "tell_parent";
      readonly key: string;
      readonly runId: string;
      /** The call of the parent session that has started this one. */
      readonly parent: ParentCall;
      /** Since when it waits, in epoch milliseconds; null: it does not. */
      readonly askedAt: number | null;
      /** It sleeps or waits for a signal. */
      readonly asleep?: ChildSleep;
      readonly seq: number;
    }
  /** Calls the `afterRun` hooks. */
  | { readonly type: "call_after_run_hooks"; readonly key: string; readonly runId: string }
  /** The parent session is told how this one ended. */
  | {
      readonly type: "notify_parent";
      readonly key: string;
      readonly runId: string;
      /** The call of the parent session that has started this one. */
      readonly parent: ParentCall;
    };

/** The name of an effect. */
export type EffectType = Effect["type"];
