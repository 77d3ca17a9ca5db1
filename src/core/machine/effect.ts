/**
 * Effects: the work that should be in flight. An effect is a value with a stable key. The driver starts effects that are wanted but not
 * running, and signals running effects that are no longer wanted. Each effect settles with one event.
 */
import type { ChildSleep } from "./call-state.js";
import type { Timer } from "./event.js";

type ParentCall = {
  readonly sessionId: string;
  readonly callKey: string;
  /** Set if the parent does not wait for the child. */
  readonly background?: true;
};

/** Work that should be in flight in a state. It settles with one event. */
export type Effect =
  /** Prepares the next model call: compaction and hooks. */
  | { readonly type: "prepare"; readonly key: string; readonly runId: string }
  /** Creates a summary. */
  | { readonly type: "compact"; readonly key: string; readonly runId: string }
  /** Calls a model. */
  | {
      readonly type: "call_model";
      readonly key: string;
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
    }
  /** Prepares the end of the run: hooks, and the check of the answer's schema. */
  | { readonly type: "finish"; readonly key: string; readonly runId: string }
  /** Finishes the current agent's step and hands the session over. */
  | { readonly type: "hand_over"; readonly key: string; readonly runId: string }
  /** Checks a call. */
  | { readonly type: "decide"; readonly key: string; readonly runId: string; readonly callKey: string }
  /** Runs a tool. */
  | {
      readonly type: "run_tool";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      readonly attempt: number;
    }
  /** Finds out what happened to a call. */
  | {
      readonly type: "reconcile";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      readonly attempt: number;
    }
  /** Waits until `until` (epoch milliseconds). If `ms` is present, the wait is no longer than that, even if the clock jumps. */
  | {
      readonly type: "sleep";
      readonly key: string;
      readonly runId: string;
      /** The kind of timer. */
      readonly timer: Timer;
      /** When it fires, in epoch milliseconds. */
      readonly until: number;
      /** The length of the wait in milliseconds, for a backoff. */
      readonly ms?: number;
      readonly callKey?: string;
      readonly attempt?: number;
      /** The tool's question that expires. */
      readonly questionId?: string;
    }
  /** Aborts a child session. */
  | {
      readonly type: "cancel_child";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      /** The tool that runs the child's agent. */
      readonly name: string;
      readonly childId: string;
    }
  /** Reports to the parent session whether this child waits for a person, as of its entry `seq`. */
  | {
      readonly type: "tell_parent";
      readonly key: string;
      readonly runId: string;
      /** The parent session's call that started this session. */
      readonly parent: ParentCall;
      /** Since when this child waits, in epoch milliseconds; null if it does not. */
      readonly askedAt: number | null;
      /** Present if this child sleeps or waits for a signal. */
      readonly asleep?: ChildSleep;
      readonly seq: number;
    }
  /** Calls the `afterRun` hooks. */
  | { readonly type: "call_after_run_hooks"; readonly key: string; readonly runId: string }
  /** Reports to the parent session how this one ended. */
  | {
      readonly type: "notify_parent";
      readonly key: string;
      readonly runId: string;
      /** The parent session's call that started this session. */
      readonly parent: ParentCall;
    };

/** The name of an effect. */
export type EffectType = Effect["type"];
