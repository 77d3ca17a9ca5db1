/**
 * One way to carry out each effect.
 */

import { toolCallsOf } from "../../core/data/message.js";
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody } from "../../core/machine/event.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { EffectContext } from "../work/effect-context.js";
import { afterRun } from "./after-run.js";
import { callModel } from "./call-model.js";
import { cancelChild, notifyParent } from "./children.js";
import { compact } from "./compact.js";
import { decide } from "./decide.js";
import { finish } from "./finish.js";
import { prepare } from "./prepare.js";
import { reconcileTool } from "./reconcile-tool.js";
import { runTool } from "./run-tool.js";

/** Effects that touch nothing outside: where they settle at once, their event joins the commit that wanted them. */
export function isImmediate({ type }: Effect): boolean {
  return type === "prepare" || type === "decide" || type === "finish" || type === "call_after_run_hooks";
}

/** Carries out an effect; the driver itself waits for what sleeps. */
export function perform(
  effect: Exclude<Effect, { type: "sleep" }>,
  work: EffectContext,
  cancellation: Cancellation,
): EventBody | undefined | Promise<EventBody | undefined> {
  switch (effect.type) {
    case "prepare":
      return prepare(effect, work, cancellation);
    case "compact":
      return compact(effect, work, cancellation);
    case "call_model":
      return callModel(effect, work, cancellation);
    case "decide":
      return decide(effect, work, cancellation);
    case "run_tool":
      return runTool(effect, work, cancellation);
    case "reconcile":
      return reconcileTool(effect, work, cancellation);
    case "finish":
      return finish(effect, work, cancellation);
    case "call_after_run_hooks":
      return afterRun(effect, work, cancellation);
    case "cancel_child":
      return cancelChild(effect, work);
    case "notify_parent":
      return notifyParent(effect, work);
  }
}

/** It ends the run, unless a steer came meanwhile: so what others posted is taken first. */
export function isAnswer(event: EventBody): boolean {
  return event.type === "model_finished" && toolCallsOf(event.message).length === 0;
}
