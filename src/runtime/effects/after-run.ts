/**
 * After a run: the hooks that come then.
 */
import type { EventBody } from "../../core/machine/event.js";
import { callAfterRun } from "../hooks/end-hooks.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { andThen } from "../lib/maybe-promise.js";
import type { EffectOf, Perform } from "../work/effect-context.js";

export const afterRun: Perform<EffectOf<"call_after_run_hooks">> = ({ runId }, work, cancellation) =>
  andThen(
    callAfterRun(work, cancellation),
    (records): EventBody => ({ type: "after_run_hooks_called", runId, ...hookRecords(records) }),
  );
