/**
 * Deltas of one text that wait for a consumer, as one delta. It has the number of the last of them.
 */
import type { MessageDelta } from "../../ports/model.js";
import type { StreamItem } from "../agent/stream-types.js";

type TextDelta = Extract<MessageDelta, { readonly text: string }>;

/** Belongs to one consumer, and grows until the consumer takes it. */
export type JoinedDelta = {
  readonly type: "delta";
  n: number;
  readonly delta: { -readonly [Key in keyof TextDelta]: TextDelta[Key] };
};

/** At this length, a delta takes no more text from those that follow it. */
const maxJoined = 4_096;

/**
 * The last item that waits, with the text of the delta that follows it. Null if the delta is an item of its own.
 * @param lastJoined what this function gave last for the consumer
 */
export function joinDelta(last: StreamItem, delta: MessageDelta, lastJoined: JoinedDelta | null): JoinedDelta | null {
  if (last.type !== "delta" || !canJoin(last.delta, delta)) return null;
  const joined: JoinedDelta = last === lastJoined ? lastJoined : { type: "delta", n: 1, delta: { ...last.delta } };
  joined.n += 1;
  joined.delta.seq = delta.seq;
  joined.delta.text += (delta as TextDelta).text;
  return joined;
}

/** Whether both are deltas of one text, the second behind the first. */
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
