/**
 * A run as a sequence of frozen views.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import type { Message } from "../../core/data/message.js";
import { isAsleep, type State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import type { LocalSession } from "../session/local-session.js";
import { addEntryListener } from "../subscribers/broadcast.js";

/** The state and the conversation after a step, after an error, or when the run ended or began to wait. */
export type RunView = {
  /** The state of the session. */
  readonly state: State;
  readonly messages: readonly Message[];
};

export async function* createIterator(
  getLocalSession: () => LocalSession,
  runId: string,
  begin: () => Promise<RunResult>,
): AsyncGenerator<RunView, RunResult, undefined> {
  const views: RunView[] = [];
  let wake = () => {};
  const stop = addEntryListener(getLocalSession(), (committed, transcript) => {
    if (!completesView(committed, runId)) return;
    views.push(deepFreeze({ state: committed.after, messages: transcript.messages.slice(0, committed.shown) }));
    wake();
  });
  let outcome: { readonly result: RunResult } | { readonly error: unknown } | null = null;
  begin()
    .then(
      (result) => {
        outcome = { result };
      },
      (error) => {
        outcome = { error };
      },
    )
    .finally(() => wake());
  try {
    for (;;) {
      const view = views.shift();
      if (view !== undefined) yield view;
      else if (outcome !== null) return unwrapOutcome(outcome);
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stop();
  }
}

function completesView({ entry, before, after }: CommittedEntry, runId: string): boolean {
  if (after.status === "idle" || after.runId !== runId) return false;
  const { type } = entry.event;
  if (type === "model_failed" || type === "run_finished") return true;
  if (after.status === "awaiting_human") return before.status !== "awaiting_human";
  if (isAsleep(after)) return !isAsleep(before);
  return "modelCallIndex" in before && before.runId === runId && after.modelCallIndex > before.modelCallIndex;
}

function unwrapOutcome(outcome: { readonly result: RunResult } | { readonly error: unknown }): RunResult {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}
