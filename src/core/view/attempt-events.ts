/**
 * The public events of failed attempts of a model call, and of compactions.
 */
import { guardTrippedCode } from "../data/message.js";
import { roundCost } from "../data/usage.js";
import type { EventOf } from "../machine/event.js";
import type { State } from "../machine/state.js";
import type { PublicEventBody } from "./public-event.js";

/** If a guard ended the attempt, a front end must remove the deltas that it has shown; `attempt_withdrawn` tells it to. */
export function attemptFailedEvents(event: EventOf<"model_failed">, after: State): readonly PublicEventBody[] {
  const failed = attemptFailedEvent(event, after);
  const { runId, modelCallIndex, attempt } = event;
  if (event.failure.code !== guardTrippedCode) return [failed];
  return [failed, { type: "attempt_withdrawn", runId, modelCallIndex, attempt }];
}

/** A failed attempt. A limit or the end of the run may prevent the planned next attempt; `next` is then `give_up`. */
function attemptFailedEvent(event: EventOf<"model_failed">, after: State): PublicEventBody {
  const { runId, modelCallIndex, attempt, model, failure, next, usage } = event;
  const used = usage === undefined ? {} : { usage: roundCost(usage) };
  const body = { type: "attempt_failed", runId, modelCallIndex, attempt, model, failure, ...used } as const;
  if (after.status !== "model_running" && !(after.status === "preparing" && after.for === "compaction"))
    return { ...body, next: "give_up" };
  return next.type === "retry" ? { ...body, next: next.type, retryInMs: next.inMs } : { ...body, next: next.type };
}

export function compactedEvent(event: EventOf<"compacted">): PublicEventBody {
  const {
    at: _at,
    hooks: _hooks,
    keptFrom: _from,
    readFrom: _readFrom,
    runStartSeq: _run,
    timing: _timing,
    dataBlob: _dataBlob,
    requests: _requests,
    usage,
    ...publicFields
  } = event;
  return usage === undefined ? publicFields : { ...publicFields, usage: roundCost(usage) };
}
