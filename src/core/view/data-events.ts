/**
 * The public events of changes of a session's data: which keys, not what they hold.
 */
import { type DataPatch, keysOf } from "../data/session-data.js";
import type { EventOf } from "../machine/event.js";
import type { PublicEventBody } from "./public-event.js";

/** A change from outside. */
export function changedData({ type, patch, by }: EventOf<"data_changed">): PublicEventBody {
  return { type, keys: keysOf(patch), ...(by === undefined ? {} : { by }) };
}

/** What a call changed with this entry, if it changed anything. */
export function changedByCall({
  callKey,
  data,
}: {
  readonly callKey: string;
  readonly data?: DataPatch;
}): readonly PublicEventBody[] {
  return data === undefined ? none : [{ type: "data_changed", keys: keysOf(data), callKey }];
}

const none: readonly PublicEventBody[] = [];
