/**
 * Effects: the work that should be in flight. An effect is a value with a stable key. The driver starts effects that
 * are wanted and not running, and signals effects that are running and no longer wanted. Each effect settles with one
 * event.
 */
import type { Timer } from "./event.js";

export type Effect =
  | { readonly type: "prepare"; readonly key: string; readonly runId: string }
  | { readonly type: "compact"; readonly key: string; readonly runId: string }
  | {
      readonly type: "call_model";
      readonly key: string;
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
    }
  | { readonly type: "finish"; readonly key: string; readonly runId: string }
  /** The agent that has the session finishes its step and passes the session on. */
  | { readonly type: "hand_over"; readonly key: string; readonly runId: string }
  | { readonly type: "decide"; readonly key: string; readonly runId: string; readonly callKey: string }
  | {
      readonly type: "run_tool";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      readonly attempt: number;
    }
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
      readonly timer: Timer;
      readonly until: number;
      readonly ms?: number;
      readonly callKey?: string;
      readonly attempt?: number;
      /** The question of a tool that expires. */
      readonly questionId?: string;
    }
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
      readonly parent: { readonly sessionId: string; readonly callKey: string };
      /** Since when it waits, in epoch milliseconds; null: it does not. */
      readonly askedAt: number | null;
      readonly seq: number;
    }
  /** Calls the `afterRun` hooks. */
  | { readonly type: "call_after_run_hooks"; readonly key: string; readonly runId: string }
  | {
      readonly type: "notify_parent";
      readonly key: string;
      readonly runId: string;
      readonly parent: { readonly sessionId: string; readonly callKey: string };
    };

export type EffectType = Effect["type"];
