/**
 * After a run: the hooks that come then.
 */
import type { EventBody } from "../../core/machine/event.js";
import { tellEnd } from "../hooks/end-hooks.js";
import { riding } from "../hooks/step-hooks.js";
import { andThen } from "../lib/maybe-promise.js";
import type { EffectOf, Perform } from "../work/effect-context.js";

export const leave: Perform<EffectOf<"leave_run">> = ({ runId }, work, cancellation) =>
  andThen(tellEnd(work, cancellation), (records): EventBody => ({ type: "run_left", runId, ...riding(records) }));
