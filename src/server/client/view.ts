/**
 * The client's state of a stream, to which each frame is applied.
 *
 * 1. A logged event is applied once, by its id. Ids ascend, so an event that does not come after the last one is ignored.
 * 2. The session's events and deltas are folded by `src/view`. If deltas do not continue the message that is streaming, the client
 *    must reconnect.
 * 3. In a stream with children, each session has its own view.
 */
import type { MessageSnapshot, PublicEvent } from "../../index.js";
import { parseCursor } from "../../stream/cursor.js";
import { createSessionView, type SessionView } from "../../view/session-view.js";
import type { ViewChange } from "../../view/view-change.js";
import type { FamilyFrame, StreamFrame } from "./frames.js";

/** The message that is streaming, as received so far. */
export type PartialMessage = Pick<
  MessageSnapshot,
  "runId" | "modelCallIndex" | "attempt" | "message" | "open" | "inputs"
> & {
  /** The number of the last delta that the message includes. */
  readonly seq: number;
};

/** The effect of a frame. `reconnect`: the client has missed deltas, and must reconnect after `lastId`. */
export type FrameEffect = "event" | "partial" | "control" | "ignored" | "reconnect";

/** The state of a client that reads a stream. */
export type StreamView = {
  /** Applies the next frame, and returns its effect. */
  readonly apply: (frame: StreamFrame) => FrameEffect;
  /** The message that is streaming; null if there is none. */
  readonly partial: () => PartialMessage | null;
  /** The message that a descendant session is streaming, in a stream with children. */
  readonly partialOf: (sessionId: string) => PartialMessage | null;
  /** The id of the last logged event, after which the stream continues. Null before the first one. */
  readonly lastId: () => string | null;
};

/** Creates the empty view of a stream. */
export function createStreamView(lastId: string | null = null): StreamView {
  let last = lastId;
  let view = createSessionView(parseCursor(lastId) ?? undefined);
  /** The sessions of a stream with children. */
  let family: Map<string, SessionView> | null = null;

  function apply({ id, data }: StreamFrame): FrameEffect {
    if ("depth" in data) {
      if (id !== undefined) last = id;
      return applyFrame(getFamilyView(data), data);
    }
    if (data.type === "open") {
      view.rejoin();
      for (const sessionView of family?.values() ?? []) sessionView.rejoin();
      return "control";
    }
    if (data.type === "reset") {
      last = null;
      view = createSessionView();
      family = null;
      return "control";
    }
    const applied = applyFrame(view, data);
    if (applied === "event" && id !== undefined) last = id;
    return applied;
  }

  function getFamilyView({ sessionId }: FamilyFrame): SessionView {
    family ??= new Map();
    const sessionView = family.get(sessionId) ?? createSessionView();
    family.set(sessionId, sessionView);
    return sessionView;
  }

  return {
    apply,
    partial: () => toPartialMessage(view),
    partialOf: (sessionId) => toPartialMessage(family?.get(sessionId)),
    lastId: () => last,
  };
}

function applyFrame(view: SessionView, data: StreamFrame["data"]): FrameEffect {
  if ("seq" in data && "index" in data) return view.apply(data as PublicEvent).length === 0 ? "ignored" : "event";
  if (data.type !== "delta" && data.type !== "snapshot") return "control";
  const changes: readonly ViewChange[] = view.apply(data);
  if (changes.some(({ type }) => type === "gap")) return "reconnect";
  return changes.length === 0 ? "ignored" : "partial";
}

function toPartialMessage(view: SessionView | undefined): PartialMessage | null {
  const streamed = view?.snapshot().streamed ?? null;
  if (streamed === null) return null;
  const { type: _, deltaSeq: seq, ...rest } = streamed;
  return { ...rest, seq };
}
