/**
 * Effects: what should be in flight. An effect is a value with a stable key; a driver starts what is wanted and not
 * running, and signals what is running and no longer wanted. Each effect settles with one event.
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
  /** Settles with `woke` at `until` (epoch milliseconds). `ms` is the length of the wait where it is known: the clock may jump, the wait does not grow. */
  | {
      readonly type: "sleep";
      readonly key: string;
      readonly runId: string;
      readonly timer: Timer;
      readonly until: number;
      readonly ms?: number;
      readonly callKey?: string;
      readonly attempt?: number;
    }
  | {
      readonly type: "cancel_child";
      readonly key: string;
      readonly runId: string;
      readonly callKey: string;
      /** The tool behind which the child's agent stands. */
      readonly name: string;
      readonly childId: string;
    }
  /** Calls the hooks that come after a run. */
  | { readonly type: "call_after_run_hooks"; readonly key: string; readonly runId: string }
  | {
      readonly type: "notify_parent";
      readonly key: string;
      readonly runId: string;
      readonly parent: { readonly sessionId: string; readonly callKey: string };
    };

export type EffectType = Effect["type"];
