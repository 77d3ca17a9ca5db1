/**
 * Joins waiting deltas of one text into one delta, which has the number of the last of them.
 */
import type { MessageDelta } from "../../ports/model.js";
import type { StreamItem } from "../agent/stream-types.js";

type TextDelta = Extract<MessageDelta, { readonly text: string }>;

/** Belongs to one consumer, and grows until the consumer reads it. */
export type JoinedDelta = {
  readonly type: "delta";
  n: number;
  readonly delta: { -readonly [Key in keyof TextDelta]: TextDelta[Key] };
};

/** A joined delta of this length is not extended further. */
const maxJoined = 4_096;

/**
 * Joins a delta with the last waiting item. Null if the two cannot be joined.
 * @param lastJoined the last result of this function for the consumer
 */
export function joinDelta(last: StreamItem, delta: MessageDelta, lastJoined: JoinedDelta | null): JoinedDelta | null {
  if (last.type !== "delta" || !canJoin(last.delta, delta)) return null;
  const joined: JoinedDelta = last === lastJoined ? lastJoined : { type: "delta", n: 1, delta: { ...last.delta } };
  joined.n += 1;
  joined.delta.seq = delta.seq;
  joined.delta.text += (delta as TextDelta).text;
  return joined;
}

/** Whether both are deltas of one text, and `next` directly follows `delta`. */
function canJoin(delta: MessageDelta, next: MessageDelta): delta is TextDelta {
  return (
    "text" in delta &&
    "text" in next &&
    next.seq === delta.seq + 1 &&
    next.kind === delta.kind &&
    next.id === delta.id &&
    next.attempt === delta.attempt &&
    next.modelCallIndex === delta.modelCallIndex &&
    next.runId === delta.runId &&
    !("providerMetadata" in delta || "providerMetadata" in next) &&
    delta.text.length < maxJoined
  );
}
