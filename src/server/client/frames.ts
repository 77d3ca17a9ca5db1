/**
 * The frames of a stream, and a reader for server-sent events.
 */
import type { SessionOverview } from "../../core/index.js";
import type {
  FamilyItem,
  MessageDelta,
  MessageSnapshot,
  PublicEvent,
  SessionSummary,
  Status,
  StreamItem,
} from "../../index.js";

/** The source of a session's deltas: this process, another one, or none, in which case only the log is streamed. */
export type LiveSource = "here" | "peer" | "none";

/** Why the server ends a stream. After `end`, there is nothing more to come. */
export type ByeReason = "drain" | "slow" | "age" | "auth" | "error" | "end";

/** Frames about the stream itself. */
export type ControlFrame =
  /** The first frame: the last entry of the log and the session's status. */
  | {
      readonly type: "open";
      readonly seq: number;
      readonly status: Status;
      /** The source of the deltas. */
      readonly live: LiveSource;
    }
  /** The source of the deltas has changed. */
  | {
      readonly type: "live";
      /** The source of the deltas from now on. */
      readonly live: LiveSource;
    }
  /** The requested cursor is beyond the log. Discard your state: the stream begins again with the first event. */
  | { readonly type: "reset" }
  /** The server ends the stream. */
  | {
      readonly type: "bye";
      /** Why the stream ends. */
      readonly why: ByeReason;
      /** How long to wait before reconnecting, in milliseconds. */
      readonly retryMs: number;
    };

/** The message that is streaming. */
export type SnapshotFrame = MessageSnapshot;

/** `n` text deltas, joined into one. `delta.seq` is the number of the last one. */
export type DeltaFrame = {
  readonly type: "delta";
  /** The number of joined deltas. */
  readonly n: number;
  /** The delta. */
  readonly delta: MessageDelta;
};

/** Frames of a stream of all sessions, in addition to the events of one. */
export type ListFrame =
  /** The first frame. Every later change is sent, so a list that is loaded after this frame misses nothing. */
  | {
      readonly type: "list_open";
      /** How many calls wait for an answer; null if the reader may not answer any. */
      readonly approvals: ApprovalCount | null;
    }
  /** A session has begun or changed. */
  | {
      readonly type: "session";
      /** The session as lists show it. */
      readonly session: ListedSession;
    }
  /** How many calls wait for an answer that the reader may give. */
  | ({ readonly type: "approvals" } & ApprovalCount)
  /** Sessions were deleted, or too many have changed: load the list again. */
  | { readonly type: "list_changed" };

/** The number of waiting calls, up to a maximum. */
export type ApprovalCount = {
  /** How many calls wait for an answer. */
  readonly count: number;
  /** Whether there are more than `count`. */
  readonly more: boolean;
};

/** A session as lists show it. */
export type ListedSession = Omit<SessionSummary, "holder" | "overview"> &
  SessionOverview & {
    /** Whether a process holds the session. False if that process is known to be dead. */
    readonly isHeld: boolean;
    /** Whether the session started other sessions. */
    readonly hasChildren: boolean;
  };

/** An item of a stream with child sessions, including the session that it belongs to. */
export type FamilyFrame = FamilyItem & {
  /** For a delta: the number of joined deltas. */
  readonly n?: number;
};

/** The data of a frame, by type. */
export type FrameData =
  | PublicEvent
  | ControlFrame
  | ListFrame
  | FamilyFrame
  | SnapshotFrame
  | DeltaFrame
  | Exclude<StreamItem, PublicEvent | MessageSnapshot | { readonly type: "delta" }>;

/** A frame of a stream. */
export type StreamFrame = {
  /** The cursor of a logged event, `seq.index`. Other frames have no id. */
  readonly id?: string;
  /** The content of the frame. */
  readonly data: FrameData;
};

/** The maximum length of a frame, in characters. An entry of the log has at most 1 MiB, and a few events. */
const maxFrame = 16 * 1024 * 1024;

/**
 * Reads the frames of a response. A comment yields null, which shows that the server is alive. An incomplete frame at the end is ignored.
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
      // A frame may arrive in many pieces, which are joined once it may be complete.
      if (!text.includes("\n")) continue;
      const blocks = pieces.join("").split("\n\n");
      const incomplete = blocks.pop() ?? "";
      pieces = [incomplete];
      length = incomplete.length;
      for (const block of blocks) yield parseFrame(block);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseFrame(block: string): StreamFrame | null {
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
