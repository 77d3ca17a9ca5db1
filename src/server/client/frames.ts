/**
 * The frames of a stream, and reading them from server-sent events.
 */
import type {
  FamilyItem,
  MessageDelta,
  PublicEvent,
  SessionSummary,
  Snapshot,
  Status,
  StreamItem,
} from "../../index.js";

/** Where the deltas of a session come from: this process, another one, or nowhere: then only the log is told. */
export type LiveSource = "here" | "peer" | "none";

/** Why the server ends a stream. After `end`, there is nothing more to come. */
export type ByeReason = "drain" | "slow" | "age" | "auth" | "error" | "end";

export type ControlFrame =
  | { readonly type: "open"; readonly seq: number; readonly status: Status; readonly live: LiveSource }
  | { readonly type: "live"; readonly live: LiveSource }
  /** The place that was asked for is beyond the log: forget what you have. All follows from the beginning. */
  | { readonly type: "reset" }
  | { readonly type: "bye"; readonly why: ByeReason; readonly retryMs: number };

export type SnapshotFrame = Snapshot;

/** `n` deltas of one text as one: `delta.seq` is the number of the last of them. */
export type DeltaFrame = { readonly type: "delta"; readonly n: number; readonly delta: MessageDelta };

/** What a stream of all sessions tells beside the events of one. */
export type ListFrame =
  /** Comes first, and after it everything that changes. So a list that is loaded after it misses nothing. */
  | { readonly type: "list_open"; readonly approvals: ApprovalCount | null }
  /** A session that has begun or changed, as the list of sessions has it. */
  | { readonly type: "session"; readonly session: ListedSession }
  /** How many calls wait for an answer that the reader may give. */
  | ({ readonly type: "approvals" } & ApprovalCount)
  /** Sessions are gone, or too many have changed: load the list again. */
  | { readonly type: "list_changed" };

/** `more`: there are more than these. */
export type ApprovalCount = { readonly count: number; readonly more: boolean };

export type ListedSession = Omit<SessionSummary, "holder"> & { readonly isHeld: boolean };

/** An item of a stream with child sessions: it says of which session it is. */
export type FamilyFrame = FamilyItem & { readonly n?: number };

export type FrameData =
  | PublicEvent
  | ControlFrame
  | ListFrame
  | FamilyFrame
  | SnapshotFrame
  | DeltaFrame
  | Exclude<StreamItem, PublicEvent | Snapshot | { readonly type: "delta" }>;

/** `id` is the place of an event of the log, `seq.index`. Nothing else has one. */
export type StreamFrame = { readonly id?: string; readonly data: FrameData };

/** The most characters of one frame: an entry of the log takes at most 1 MiB, and has a few events. */
const maxFrame = 16 * 1024 * 1024;

/**
 * Reads the frames of a response. A comment gives null: the server is there. What is cut off at the end is left out.
 * @throws Error if a frame is not JSON, or too long
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamFrame | null, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      pieces.push(text);
      length += text.length;
      if (length > maxFrame) throw new Error("A frame of the stream is too long.");
      // A frame may come in many pieces: they are joined when it may have ended.
      if (!text.includes("\n")) continue;
      const blocks = pieces.join("").split("\n\n");
      const rest = blocks.pop() ?? "";
      pieces = [rest];
      length = rest.length;
      for (const block of blocks) yield frameIn(block);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function frameIn(block: string): StreamFrame | null {
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [name = ""] = line.split(":", 1);
    const value = line.slice(name.length + 1).replace(/^ /, "");
    if (name === "id") id = value;
    if (name === "data") data.push(value);
  }
  if (data.length === 0) return null;
  const parsed = JSON.parse(data.join("\n")) as FrameData;
  return id === undefined ? { data: parsed } : { id, data: parsed };
}
