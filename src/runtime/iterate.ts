/**
 * A run as a sequence of frozen views.
 */
import type { Message } from "../core/message.js";
import type { RunResult } from "../core/outcome.js";
import type { State } from "../core/state.js";
import type { Live } from "./live.js";

/** The state and the conversation, as they were after a step, after an error, or at the end. */
export type View = { readonly state: State; readonly messages: readonly Message[] };

export async function* createIterator(
  live: Live,
  begin: () => Promise<RunResult>,
): AsyncGenerator<View, RunResult, undefined> {
  const views: View[] = [];
  let wake = () => {};
  const stop = live.onStep(({ entry, before, after, shown }, transcript) => {
    const stepEnded =
      "modelCallIndex" in before && "modelCallIndex" in after && after.modelCallIndex > before.modelCallIndex;
    if (!stepEnded && entry.event.type !== "model_failed" && entry.event.type !== "run_finished") return;
    views.push(freeze({ state: after, messages: transcript.messages.slice(0, shown) }));
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
      else if (outcome !== null) return resultIn(outcome);
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stop();
  }
}

function resultIn(outcome: { readonly result: RunResult } | { readonly error: unknown }): RunResult {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
