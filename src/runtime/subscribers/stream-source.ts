/**
 * What a consumer of a session reads besides live items: the log, and what is in progress in this process.
 */
import type { ToolOutput } from "../../core/data/message.js";
import type { TailSource } from "../../stream/tail/tail.js";
import type { MessageSnapshot, PreliminaryOutput } from "../agent/stream-types.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import { toPartial } from "../model/assembled-message.js";
import type { MessageAssembly } from "../model/message-assembly.js";

/** A session that is driven here, or followed. */
export type StreamSource = TailSource & {
  readonly sessionId: string;
  readonly agent: { readonly store: LogStore };
  /** The memory of the driver in this process, with the message that is being streamed. */
  memory: StreamedWork | null;
};

/** The visible part of work in flight, for a consumer that joins while it streams. */
export type StreamedWork = {
  readonly partial: MessageAssembly | null;
  preliminary: Map<string, ToolOutput> | null;
};

/** The methods of every source. */
export const sourceMethods: TailSource & ThisType<StreamSource> = {
  logged(after) {
    return readEvents(this.agent.store, this.sessionId, after);
  },
  inProgress() {
    if (this.memory === null) return nothing;
    const { partial, preliminary } = this.memory;
    return [...(partial === null ? [] : [createSnapshot(partial)]), ...[...(preliminary ?? [])].map(createPreliminary)];
  },
};

const nothing: readonly never[] = [];

function createSnapshot(partial: MessageAssembly): MessageSnapshot {
  const { runId, modelCallIndex, attempt } = partial.identity;
  return { type: "snapshot", runId, modelCallIndex, attempt, deltaSeq: partial.seq, ...toPartial(partial) };
}

function createPreliminary([callKey, output]: readonly [string, ToolOutput]): PreliminaryOutput {
  return { type: "preliminary", callKey, output };
}
