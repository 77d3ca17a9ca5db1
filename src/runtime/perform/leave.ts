/**
 * After a run: the hooks that come then.
 */
import type { EventBody } from "../../core/event.js";
import { riding } from "../hooks/around-step.js";
import { tellEnd } from "../hooks/ending.js";
import { andThen } from "../thenable.js";
import type { EffectOf, Perform } from "../work.js";

export const leave: Perform<EffectOf<"leave_run">> = ({ runId }, work, cancellation) =>
  andThen(tellEnd(work, cancellation), (records): EventBody => ({ type: "run_left", runId, ...riding(records) }));
