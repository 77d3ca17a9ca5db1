/**
 * What waits to be committed, together.
 */
import type { EventBody } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";

export type Events = (state: State) => readonly EventBody[];

/** Messages of the inbox that are consumed, and ids that are taken. */
export type Ids = { readonly consume?: string | undefined; readonly record?: string | undefined };

export type PendingCommit = {
  readonly events: readonly EventBody[] | Events;
  readonly ids?: Ids;
  /** The effect that settled with it. */
  readonly settled?: string;
  readonly done?: (durable: boolean) => void;
};

export type AllIds = { readonly consume: readonly string[]; readonly record: readonly string[] };

export const noIds: AllIds = { consume: [], record: [] };

export function idsOf(batch: readonly PendingCommit[]): AllIds {
  if (batch.every(({ ids }) => ids?.consume === undefined && ids?.record === undefined)) return noIds;
  return {
    consume: batch.flatMap(({ ids }) => ids?.consume ?? []),
    record: batch.flatMap(({ ids }) => ids?.record ?? []),
  };
}
