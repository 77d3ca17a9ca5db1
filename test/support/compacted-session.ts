/**
 * A session whose conversation was just summed up when its process died: what comes next is the step after the compaction.
 */

import type { Event } from "../../src/core/index.js";
import { advance, effects, formatVersion, initialState, type State } from "../../src/core/index.js";
import type { Store } from "../../src/index.js";
import { defaultLimits } from "../../src/runtime/agent/limits.js";

/** Writes the session `s` with the run `r` into a store. */
export async function writeCompactedSession(store: Store): Promise<void> {
  const holder = { id: "gone", host: "elsewhere", pid: 1, startedAt: 0 };
  const at = 1_000_000;
  const claim = await store.claim("s", { holder, now: at, leaseMs: 1_000 });
  if (claim.type !== "claimed") throw new Error("the session is held");
  let state: State = initialState;
  const events: Event[] = [];
  const applyEvent = (event: Event) => {
    const next = advance(state, event);
    if (next.events.length === 0) throw new Error(`${event.type} does not apply`);
    state = next.state;
    events.push(...next.events);
  };
  const input = [{ role: "user", parts: [{ type: "text", text: "Go" }] }] as const;
  const step = { runId: "r", modelCallIndex: 1 };
  const failure = { kind: "context_overflow", message: "too long" } as const;
  const attempt = { attempt: 1, model: "m", timing: { startedAt: at, durationMs: 1 } };
  applyEvent({ type: "session_created", v: formatVersion, agent: "agent", model: "m", at });
  applyEvent({ type: "run_started", runId: "r", limits: defaultLimits, input, at });
  applyEvent({ type: "prepared", ...step, contextSeq: state.seq, purpose: "step", at });
  applyEvent({ type: "model_failed", ...step, ...attempt, failure, next: { type: "compact" }, at });
  applyEvent({
    type: "compacted",
    runId: "r",
    keptFrom: 3,
    summary: "One was said.",
    tokensBefore: 90,
    tokensAfter: 9,
    at,
  });
  if (effects(state)[0]?.type !== "prepare") throw new Error("the step after the compaction is not next");
  const commit = {
    expectedSeq: 0,
    events,
    state,
    at,
    activity: "active",
    dueAt: at,
    askedAt: null,
    release: true,
  } as const;
  const commitResult = await store.commit(claim.lease, commit);
  if (commitResult.type !== "ok") throw new Error(`the log was not written: ${commitResult.type}`);
}
