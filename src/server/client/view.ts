/**
 * What a client holds of a stream, and what each frame does to it.
 *
 * 1. An event of the log counts once, by its id. Ids rise: an event that is not after the last one is ignored.
 * 2. The session's events and deltas are folded by `src/view`. Deltas that do not continue the message that is being
 *    streamed ask the client to connect again.
 * 3. In a stream with children, each session has a view of its own.
 */
import type { PublicEvent, Snapshot } from "../../index.js";
import { parseCursor } from "../../stream/cursor.js";
import { createSessionView, type SessionView } from "../../view/session-view.js";
import type { ViewChange } from "../../view/view-change.js";
import type { FamilyFrame, StreamFrame } from "./frames.js";

/** The message that is being streamed, as far as it has come. `seq` is the number of its last delta. */
export type PartialMessage = Pick<Snapshot, "runId" | "modelCallIndex" | "attempt" | "message" | "open" | "inputs"> & {
  /** The number of the last delta that it includes. */
  readonly seq: number;
};

/** `reconnect`: something is missing; ask again for what follows `lastId`. */
export type Applied = "event" | "partial" | "control" | "ignored" | "reconnect";

/** What a reader of a stream knows so far. */
export type StreamView = {
  /** Takes the next frame, and says what it was. */
  readonly apply: (frame: StreamFrame) => Applied;
  /** The message that is being streamed; null if there is none. */
  readonly partial: () => PartialMessage | null;
  /** The message that a session below is streaming, in a stream with children. */
  readonly partialOf: (sessionId: string) => PartialMessage | null;
  /** The id of the last event of the log: where to go on from. Null before the first. */
  readonly lastId: () => string | null;
};

/** Makes a view of a stream that knows nothing yet. */
export function createStreamView(lastId: string | null = null): StreamView {
  let last = lastId;
  let view = createSessionView(parseCursor(lastId) ?? undefined);
  /** The sessions of a stream with children. */
  let family: Map<string, SessionView> | null = null;

  function apply({ id, data }: StreamFrame): Applied {
    if ("depth" in data) {
      if (id !== undefined) last = id;
      return applyFrame(getFamilyView(data), data);
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

function applyFrame(view: SessionView, data: StreamFrame["data"]): Applied {
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
