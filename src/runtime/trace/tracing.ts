/**
 * Live traces: turns the entries that a session's driver commits into records for trace listeners.
 *
 * If a driver takes a run up in its middle, the builders read the run's earlier entries from the log first. So the live
 * trace equals the trace from the log.
 */

import { freeze } from "../../core/data/freeze.js";
import { isResting, isTerminal, type State } from "../../core/machine/state.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import { readCommittedEntries } from "../log/read-log.js";
import type { TraceListener } from "../observers/listeners.js";
import { createTraceBuilder, type TraceBuilder } from "./builder.js";

export type Tracing = {
  /** Called when a driver begins, with its first state. */
  readonly begin: (state: State) => Promise<void>;
  readonly see: (step: CommittedEntry) => void;
};

type TracedListeners = { readonly builder: TraceBuilder; readonly listeners: readonly TraceListener[] };

export function createTracing(
  sessionId: string,
  { store, listeners, redact }: Pick<CompiledAgent, "store" | "listeners" | "redact">,
): Tracing {
  const watching = listeners.flatMap(({ trace }) => (trace === undefined ? [] : [trace]));
  let traced: readonly TracedListeners[] = [];

  const begun = () =>
    [false, true].flatMap((content): readonly TracedListeners[] => {
      const wanting = watching.filter((one) => one.content === content);
      if (wanting.length === 0) return [];
      return [{ builder: createTraceBuilder({ sessionId, redact, content }), listeners: wanting }];
    });

  async function begin(state: State): Promise<void> {
    traced = begun();
    const isMidway = !isResting(state) || (isTerminal(state) && state.afterRunHooksPending === true);
    if (traced.length === 0 || !isMidway) return;
    for await (const step of readCommittedEntries(store, sessionId, "startSeq" in state ? state.startSeq - 1 : 0)) {
      if (step.entry.seq > state.seq) break;
      for (const { builder } of traced) builder.add(step);
    }
  }

  function see(step: CommittedEntry): void {
    for (const { builder, listeners: wanting } of traced) {
      const records = builder.add(step);
      if (records.length === 0) continue;
      const ofRun = builder.ofRun();
      for (const record of records)
        for (const { tell } of wanting) tell(freeze(record), freeze(ofRun.slice(0, ofRun.indexOf(record) + 1)));
    }
  }

  return { begin, see };
}
