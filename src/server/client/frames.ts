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
  Usage,
} from "../../index.js";

/** Where the deltas of a session come from: this process, another one, or nowhere: then only the log is told. */
export type LiveSource = "here" | "peer" | "none";

/** Why the server ends a stream. After `end`, there is nothing more to come. */
export type ByeReason = "drain" | "slow" | "age" | "auth" | "error" | "end";

/** What the server says about the stream itself. */
export type ControlFrame =
  /** The first frame: where the log stands. */
  | {
      readonly type: "open";
      readonly seq: number;
      readonly status: Status;
      /** Where the deltas come from. */
      readonly live: LiveSource;
    }
  /** Where the deltas come from has changed. */
  | {
      readonly type: "live";
      /** Where the deltas come from, from now on. */
      readonly live: LiveSource;
    }
  /** The place that was asked for is beyond the log: forget what you have. All follows from the beginning. */
  | { readonly type: "reset" }
  /** The server ends the stream. */
  | {
      readonly type: "bye";
      /** Why the stream ends. */
      readonly why: ByeReason;
      /** In how many milliseconds to ask again. */
      readonly retryMs: number;
    };

/** The message that is being streamed. */
export type SnapshotFrame = Snapshot;

/** `n` deltas of one text as one: `delta.seq` is the number of the last of them. */
export type DeltaFrame = {
  readonly type: "delta";
  /** How many deltas it stands for. */
  readonly n: number;
  /** The delta. */
  readonly delta: MessageDelta;
};

/** What a stream of all sessions tells beside the events of one. */
export type ListFrame =
  /** Comes first, and after it everything that changes. So a list that is loaded after it misses nothing. */
  | {
      readonly type: "list_open";
      /** How many calls wait; null if the reader may answer none. */
      readonly approvals: ApprovalCount | null;
    }
  /** A session that has begun or changed, as the list of sessions has it. */
  | {
      readonly type: "session";
      /** The session as lists show it. */
      readonly session: ListedSession;
    }
  /** How many calls wait for an answer that the reader may give. */
  | ({ readonly type: "approvals" } & ApprovalCount)
  /** Sessions are gone, or too many have changed: load the list again. */
  | { readonly type: "list_changed" };

/** `more`: there are more than these. */
export type ApprovalCount = {
  /** How many calls wait. */
  readonly count: number;
  /** Whether there are more than these. */
  readonly more: boolean;
};

/** A session as lists show it. */
export type ListedSession = Omit<SessionSummary, "holder"> & {
  /** Whether a process carries it on. */
  readonly isHeld: boolean;
  /** Whether it started other sessions. */
  readonly hasChildren: boolean;
  /** The newest run, ended or not: its model calls, and what they used. Null before the first run. */
  readonly lastRun: {
    readonly runId: string;
    /** Model calls that were committed. */
    readonly steps: number;
    readonly usage: Usage;
  } | null;
};

/** An item of a stream with child sessions: it says of which session it is. */
export type FamilyFrame = FamilyItem & {
  /** For a delta: how many deltas it stands for. */
  readonly n?: number;
};

/** What a frame of a stream has. */
export type FrameData =
  | PublicEvent
  | ControlFrame
  | ListFrame
  | FamilyFrame
  | SnapshotFrame
  | DeltaFrame
  | Exclude<StreamItem, PublicEvent | Snapshot | { readonly type: "delta" }>;

/** `id` is the place of an event of the log, `seq.index`. Nothing else has one. */
export type StreamFrame = {
  /** The place of an event of the log. */
  readonly id?: string;
  /** What happened. */
  readonly data: FrameData;
};

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
