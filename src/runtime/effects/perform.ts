/**
 * Performs effects, with one function per effect.
 */

import { toolCallsOf } from "../../core/data/message.js";
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody } from "../../core/machine/event.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { callModel } from "./call-model.js";
import { cancelChild, notifyParent, reportToParent } from "./children.js";
import { compact } from "./compact.js";
import { decide } from "./decide.js";
import { prepareEnd, runAfterRunHooks } from "./finish.js";
import { prepareHandoff } from "./hand-over.js";
import { prepare } from "./prepare.js";
import { reconcileTool } from "./reconcile-tool.js";
import { runTool } from "./run-tool.js";

/** Whether an effect calls nothing outside. If it settles synchronously, its event joins the commit that wanted it. */
export function isImmediate({ type }: Effect): boolean {
  switch (type) {
    case "prepare":
    case "decide":
    case "hand_over":
    case "finish":
    case "call_after_run_hooks":
      return true;
    default:
      return false;
  }
}

/**
 * Performs one effect. Returns its event, if any: synchronously, if nothing is asynchronous.
 * The driver itself handles effects of type `sleep`.
 */
export function perform(
  effect: Exclude<Effect, { type: "sleep" }>,
  context: EffectContext,
  cancellation: Cancellation,
): MaybePromise<EventBody | undefined> {
  switch (effect.type) {
    case "prepare":
      return prepare(context, cancellation);
    case "compact":
      return compact(effect, context, cancellation);
    case "call_model":
      return callModel(effect, context, cancellation);
    case "decide":
      return runCoroutine(decide(effect, context, cancellation));
    case "run_tool":
      return runCoroutine(runTool(effect, context, cancellation));
    case "reconcile":
      return runCoroutine(reconcileTool(effect, context, cancellation));
    case "hand_over":
      return runCoroutine(prepareHandoff(context, cancellation));
    case "finish":
      return runCoroutine(prepareEnd(context, cancellation));
    case "call_after_run_hooks":
      return runCoroutine(runAfterRunHooks(effect, context, cancellation));
    case "cancel_child":
      return cancelChild(effect, context);
    case "tell_parent":
      return reportToParent(effect, context);
    case "notify_parent":
      return notifyParent(effect, context);
  }
}

/** Whether the event ends the run unless the run is steered meanwhile. If so, posted messages are consumed first. */
export function isFinalMessage(event: EventBody): boolean {
  return event.type === "model_finished" && toolCallsOf(event.message).length === 0;
}
