/**
 * The members of a batch, which the driver commits together.
 */
import type { EventBody } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";

export type CreateEvents = (state: State) => readonly EventBody[];

/** The inbox message that a commit consumes, and the message id that it records as used. */
export type MessageIds = { readonly consume?: string | undefined; readonly record?: string | undefined };

export type PendingCommit = {
  readonly events: readonly EventBody[] | CreateEvents;
  readonly ids?: MessageIds;
  /** The key of the effect that settled with these events. */
  readonly settled?: string;
  /**
   * Runs an author's code in the message's turn, before `events` are committed. Returns the commit to use instead, or
   * null if the check is asynchronous; it then adds a separate commit later.
   */
  readonly check?: () => PendingCommit | null;
  /** Called with true after the commit, or with false if the driver closes before it. */
  readonly done?: (durable: boolean) => void;
};

export type BatchIds = { readonly consume: readonly string[]; readonly record: readonly string[] };

/** Runs the checks of a batch, and drops the commits whose check is asynchronous. A check may close the driver. */
export function checkBatch(batch: readonly PendingCommit[]): readonly PendingCommit[] {
  if (batch.every(({ check }) => check === undefined)) return batch;
  return batch.flatMap((one) => (one.check === undefined ? one : (one.check() ?? [])));
}

export const noIds: BatchIds = { consume: [], record: [] };

export function collectIds(batch: readonly PendingCommit[]): BatchIds {
  if (batch.every(({ ids }) => ids?.consume === undefined && ids?.record === undefined)) return noIds;
  return {
    consume: batch.flatMap(({ ids }) => ids?.consume ?? []),
    record: batch.flatMap(({ ids }) => ids?.record ?? []),
  };
}
