/**
 * Live traces: turns the entries that a session's driver commits into records for trace listeners.
 *
 * If a driver resumes an unfinished run, the builders first read the run's earlier entries from the log. The live trace therefore equals
 * the trace from the log.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import { isResting, isTerminal, type State } from "../../core/machine/state.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import { readCommittedEntries } from "../log/read-log.js";
import type { TraceListener } from "../observers/listeners.js";
import { createTraceBuilder, type TraceBuilder } from "./trace-builder.js";

export type Tracing = {
  /** Called when a driver begins, with its first state. */
  readonly begin: (state: State) => Promise<void>;
  readonly addEntry: (committed: CommittedEntry) => void;
};

type TracedListeners = { readonly builder: TraceBuilder; readonly listeners: readonly TraceListener[] };

export function createTracing(
  sessionId: string,
  { store, listeners, redact }: Pick<CompiledAgent, "store" | "listeners" | "redact">,
): Tracing {
  const traceListeners = listeners.flatMap(({ trace }) => (trace === undefined ? [] : [trace]));
  let builders: readonly TracedListeners[] = [];

  const createBuilders = () =>
    [false, true].flatMap((content): readonly TracedListeners[] => {
      const wanting = traceListeners.filter((one) => one.content === content);
      if (wanting.length === 0) return [];
      return [{ builder: createTraceBuilder({ sessionId, redact, content }), listeners: wanting }];
    });

  async function begin(state: State): Promise<void> {
    builders = createBuilders();
    const isMidway = !isResting(state) || (isTerminal(state) && state.afterRunHooksPending === true);
    if (builders.length === 0 || !isMidway) return;
    for await (const committed of readCommittedEntries(
      store,
      sessionId,
      "startSeq" in state ? state.startSeq - 1 : 0,
    )) {
      if (committed.entry.seq > state.seq) break;
      for (const { builder } of builders) builder.add(committed);
    }
  }

  function addEntry(committed: CommittedEntry): void {
    for (const { builder, listeners: recordListeners } of builders) {
      const records = builder.add(committed);
      if (records.length === 0) continue;
      const runRecords = builder.runRecords();
      for (const record of records)
        for (const { notify } of recordListeners)
          notify(deepFreeze(record), deepFreeze(runRecords.slice(0, runRecords.indexOf(record) + 1)));
    }
  }

  return { begin, addEntry };
}
