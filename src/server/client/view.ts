/**
 * What a client holds of a stream, and what each frame does to it.
 *
 * 1. An event of the log counts once, by its id. Ids rise: an event that is not behind the last one is ignored.
 * 2. One message is being streamed at a time. A `snapshot` replaces it, a delta that continues it is added, and one that
 *    does not asks the client to connect again. The committed message, or the end of the attempt, removes it.
 * 3. What is late for an attempt that has ended changes nothing.
 */

import type { AssistantMessage, AssistantPart, MessageDelta, PublicEvent, Snapshot } from "../../index.js";
import { beginning, formatCursor, isAfter, parseCursor } from "../../stream/cursor.js";
import type { FamilyFrame, FrameData, StreamFrame } from "./frames.js";

/** The message that is being streamed, as far as it has come. `seq` is the number of its last delta. */
export type PartialMessage = Pick<Snapshot, "runId" | "modelCallIndex" | "attempt" | "open"> & {
  /** The number of the last delta that it includes. */
  readonly seq: number;
  /** The message so far. */
  readonly message: AssistantMessage;
  /** The arguments of calls, as far as the model has written them. */
  readonly inputs: readonly {
    /** The id that the deltas name. */
    readonly id: string;
    readonly name: string;
    /** The arguments so far. */
    readonly text: string;
  }[];
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

type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

type Building = Attempt & {
  seq: number;
  readonly parts: Growing[];
  readonly open: Map<string, number>;
  readonly inputs: Map<string, { readonly name: string; text: string }>;
};

type Growing = { type: "text" | "reasoning"; text: string } | { readonly type: "whole"; readonly part: AssistantPart };

/** Makes a view of a stream that knows nothing yet. */
export function createStreamView(lastId: string | null = null): StreamView {
  let last = lastId;
  let cursor = parseCursor(lastId) ?? beginning;
  let below: Map<string, StreamView> | null = null;
  let building: Building | null = null;
  let ended: Attempt | null = null;

  function applyEvent(id: string, event: PublicEvent): Applied {
    const at = parseCursor(id);
    if (at === null || !isAfter(at, cursor)) return "ignored";
    last = id;
    cursor = at;
    const attempt = endedBy(event, building);
    if (attempt !== null) {
      ended = attempt;
      building = null;
    }
    return "event";
  }

  function applyDelta(delta: MessageDelta, count: number): Applied {
    if (isOver(delta, ended)) return "ignored";
    if (building === null || !isSame(building, delta)) {
      // A delta of an earlier attempt comes too late.
      if (building !== null && isEarlier(delta, building)) return "ignored";
      if (delta.seq !== count) return "reconnect";
      building = begin(delta);
    }
    if (delta.seq <= building.seq) return "ignored";
    if (delta.seq - count !== building.seq) {
      building = null;
      return "reconnect";
    }
    building.seq = delta.seq;
    add(building, delta);
    return "partial";
  }

  /** In a stream with children, an id is a place in all of its sessions. Within each session, its events rise. */
  function applyOfFamily({ id, data }: StreamFrame & { readonly data: FamilyFrame }): Applied {
    below ??= new Map();
    const view = below.get(data.sessionId) ?? createStreamView();
    below.set(data.sessionId, view);
    if (id !== undefined) last = id;
    const place = "seq" in data ? { id: formatCursor(data) } : {};
    return view.apply({ ...place, data: withoutFamily(data) });
  }

  function apply(frame: StreamFrame): Applied {
    const { data } = frame;
    if ("depth" in data) return applyOfFamily({ ...frame, data });
    switch (data.type) {
      case "delta":
        return applyDelta(data.delta, data.n);
      case "snapshot":
        if (isOver(data, ended)) return "ignored";
        building = fromSnapshot(data);
        return "partial";
      case "reset":
        last = null;
        cursor = beginning;
        below = null;
        building = null;
        ended = null;
        return "control";
      default:
        return frame.id === undefined ? "control" : applyEvent(frame.id, data as PublicEvent);
    }
  }

  const partial = () => (building === null ? null : partialOf(building));
  return { apply, partial, partialOf: (sessionId) => below?.get(sessionId)?.partial() ?? null, lastId: () => last };
}

/** The data as a stream of that session alone would have it. */
function withoutFamily({ sessionId: _, depth: _depth, parent: _parent, ...data }: FamilyFrame): FrameData {
  return data as FrameData;
}

/** The attempt that an event ends, or whose message it has. */
function endedBy(event: PublicEvent, building: Attempt | null): Attempt | null {
  switch (event.type) {
    case "message":
    case "attempt_failed":
    case "attempt_withdrawn":
      return event;
    case "final":
      return building?.runId === event.runId ? building : null;
    default:
      return null;
  }
}

function isSame(a: Attempt, b: Attempt): boolean {
  return a.runId === b.runId && a.modelCallIndex === b.modelCallIndex && a.attempt === b.attempt;
}

function isEarlier(a: Attempt, b: Attempt): boolean {
  if (a.runId !== b.runId) return false;
  return a.modelCallIndex < b.modelCallIndex || (a.modelCallIndex === b.modelCallIndex && a.attempt < b.attempt);
}

function isOver(attempt: Attempt, ended: Attempt | null): boolean {
  return ended !== null && (isSame(attempt, ended) || isEarlier(attempt, ended));
}

function begin({ runId, modelCallIndex, attempt }: Attempt): Building {
  return { runId, modelCallIndex, attempt, seq: 0, parts: [], open: new Map(), inputs: new Map() };
}

function fromSnapshot(snapshot: Extract<StreamFrame["data"], { readonly type: "snapshot" }>): Building {
  const open = new Map(snapshot.open.map(({ type, id, index }) => [`${type}/${id}`, index]));
  const parts = snapshot.message.parts.map((part): Growing => {
    const isText = (part.type === "text" || part.type === "reasoning") && part.providerMetadata === undefined;
    return isText ? { type: part.type, text: part.text } : { type: "whole", part };
  });
  const inputs = new Map(snapshot.inputs.map(({ id, name, text }) => [id, { name, text }]));
  return { ...begin(snapshot), seq: snapshot.deltaSeq, parts, open, inputs };
}

function add(building: Building, delta: MessageDelta): void {
  const { parts, open, inputs } = building;
  switch (delta.kind) {
    case "text-start":
    case "reasoning-start":
      openPart(building, textTypeOf(delta.kind), delta.id);
      return;
    case "text-delta":
    case "reasoning-delta": {
      const type = textTypeOf(delta.kind);
      const part = parts[open.get(`${type}/${delta.id}`) ?? openPart(building, type, delta.id)];
      if (part !== undefined && part.type !== "whole") part.text += delta.text;
      return;
    }
    case "text-end":
    case "reasoning-end":
      open.delete(`${textTypeOf(delta.kind)}/${delta.id}`);
      return;
    case "tool-input-start":
      inputs.set(delta.id, { name: delta.name, text: "" });
      return;
    case "tool-input-delta": {
      const input = inputs.get(delta.id);
      if (input !== undefined) input.text += delta.text;
      return;
    }
    case "tool-call":
      inputs.delete(delta.id);
      parts.push({ type: "whole", part: callOf(delta) });
      return;
    case "file":
      parts.push({ type: "whole", part: { type: "file", mediaType: delta.mediaType, data: delta.data } });
      return;
    default:
      return;
  }
}

function openPart({ parts, open }: Building, type: "text" | "reasoning", id: string): number {
  open.set(`${type}/${id}`, parts.length);
  return parts.push({ type, text: "" }) - 1;
}

function textTypeOf(kind: MessageDelta["kind"]): "text" | "reasoning" {
  return kind.startsWith("text") ? "text" : "reasoning";
}

function callOf({ id, name, input }: Extract<MessageDelta, { kind: "tool-call" }>): AssistantPart {
  const base = { type: "tool_call", toolCallId: id, name } as const;
  try {
    return { ...base, input: input.trim() === "" ? {} : JSON.parse(input) };
  } catch {
    return { ...base, input };
  }
}

function partialOf({ runId, modelCallIndex, attempt, seq, parts, open, inputs }: Building): PartialMessage {
  return {
    runId,
    modelCallIndex,
    attempt,
    seq,
    message: { role: "assistant", parts: parts.map((part) => (part.type === "whole" ? part.part : { ...part })) },
    open: [...open].map(([key, index]) => {
      const [type = ""] = key.split("/", 1);
      return { id: key.slice(type.length + 1), type: type as "text" | "reasoning", index };
    }),
    inputs: [...inputs].map(([id, { name, text }]) => ({ id, name, text })),
  };
}
