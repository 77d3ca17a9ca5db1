/**
 * The items of a stream: of a session, and of its child sessions.
 */
import type { AssistantMessage, ToolOutput } from "../../core/data/message.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { MessageDelta } from "../../ports/model.js";
import type { SessionSummary } from "../../ports/store.js";
import type { OpenTextPart, WrittenInput } from "../model/assembled-message.js";
import type { PartialOutput } from "../model/partial-output.js";

/** The message that is being streamed, for a consumer that joins midway. Later deltas continue it. */
export type MessageSnapshot = {
  readonly type: "snapshot";
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The number of the last delta that the message includes. */
  readonly deltaSeq: number;
  /** The message so far, including parts that have started and are still empty. */
  readonly message: AssistantMessage;
  /** The parts that later deltas may extend: the id in the deltas, and the index of the part in the message. */
  readonly open: readonly OpenTextPart[];
  /** The tool call arguments that are being streamed: the id in the deltas, the tool, and the text so far. */
  readonly inputs: readonly WrittenInput[];
};

/**
 * The latest result that a running call has yielded, up to 50 KiB. It replaces the previous one. Live only: the log has the result of the
 * call.
 */
export type PreliminaryOutput = {
  readonly type: "preliminary";
  readonly callKey: string;
  /** The yielded value. */
  readonly output: ToolOutput;
};

/** `Output` is the type of the run's option `output`. */
export type StreamItem<Output = never> =
  | PublicEvent
  /** With the option `joinDeltas`, `n` is the number of joined deltas, and the item has the `seq` of the last of them. */
  | {
      readonly type: "delta";
      /** The delta. */
      readonly delta: MessageDelta;
      /** How many deltas were joined. Present only with the option `joinDeltas`. */
      readonly n?: number;
    }
  | MessageSnapshot
  /** The progress of a running call, from `ctx.progress(note)`. Live only. */
  | {
      readonly type: "progress";
      readonly callKey: string;
      /** What the tool reports. */
      readonly note: string;
    }
  | PreliminaryOutput
  | PartialOutput<Output>
  /** Items were dropped. The events from this entry on follow from the log, and then a snapshot of the streamed message. */
  | {
      readonly type: "lagged";
      /** The first entry whose events follow. */
      readonly fromSeq: number;
    };

/** The session that an item in a stream with children belongs to. */
export type OfFamily = {
  readonly sessionId: string;
  /** The call that started the session. Absent at depth 0. */
  readonly parent?: { readonly sessionId: string; readonly callKey: string };
  /** 0: the session of the stream; 1: a child of it; and so on. */
  readonly depth: number;
};

/**
 * An item of a stream with children. Public events have a `cursor`: `events({ children: true, after: cursor })` returns
 * exactly what follows, for the session and for each child.
 */
export type FamilyItem = OfFamily &
  /** A public event, with its cursor in the stream with children. */
  (
    | (PublicEvent & {
        /** The cursor of the event in the stream with children. */
        readonly cursor: string;
      })
    | Exclude<StreamItem, PublicEvent>
    /** No further items of this child follow, because more than 4,096 sessions are open, or because its log cannot be read. */
    | {
        readonly type: "children_omitted";
        /** Why the child is omitted. */
        readonly why: "too_many" | "unreadable";
        /** The cursor in the stream with children. */
        readonly cursor: string;
      }
  );

/** How to read the items of one session. */
export type ItemsOptions = {
  /** Returns the items after event `index` of entry `seq`. */
  readonly from: { readonly seq: number; readonly index: number };
  /** Aborting the signal ends the items. Items that have already arrived are still returned. */
  readonly signal: AbortSignal | undefined;
  /** How many items may be buffered for the consumer. Default: 1,024. */
  readonly maxBehind?: number;
  /** The maximum number of public events. Default: no limit. */
  readonly limit?: number;
  /** As in `EventsOptions`. */
  readonly live?: boolean | "only";
  /** Only items of this run. */
  readonly runId?: string;
  /** Ends the items after the end of this run, even if its events are filtered out. */
  readonly until?: string;
  /** As in `EventsOptions`. */
  readonly joinDeltas?: boolean;
};

/** Reads the items of one agent's session: first from the log, then live. */
export type ItemsOf = (sessionId: string, options: ItemsOptions) => AsyncGenerator<StreamItem, void, undefined>;

/** A session as seen by this process: its log, and live items if the session is driven here. */
export type SessionSource = {
  /** The id of the session. */
  readonly id: string;
  /** Reads its items. */
  readonly events: (options: {
    /** The cursor after which the items begin. */
    readonly after: number | string;
    /** Default: true. */
    readonly follow?: boolean;
    /** As in `EventsOptions`. */
    readonly joinDeltas?: boolean;
    /** As in `EventsOptions`. */
    readonly seen?: Pick<SessionSummary, "seq" | "info">;
    readonly signal?: AbortSignal;
  }) => AsyncGenerator<StreamItem, void, undefined>;
};

/**
 * Which items of a session to read.
 *
 * @example
 * ```ts
 * const session = agent.session("march");
 * const { runId } = await session.send("Which invoices are open?");
 * for await (const item of session.events({ after: 0 })) {
 *   if (item.type === "delta" && item.delta.kind === "text-delta") process.stdout.write(item.delta.text);
 *   if (item.type === "final" && item.runId === runId) break; // leaving the loop ends nothing
 * }
 * ```
 */
export type EventsOptions = {
  /**
   * The number of an entry, or the cursor of an event (`"57.2"`: entry and index). With `children`, also the `cursor`
   * of an item. Default: 0, the start.
   */
  readonly after?: number | string;
  /** If false, the iterator ends with the last event of the log. Default: true. */
  readonly follow?: boolean;
  /** The maximum number of public events: a page. The iterator ends with the last of them. Default: no limit. */
  readonly limit?: number;
  /**
   * `false` gives logged events only; "only" gives only what is not logged (deltas, progress). Default: true, both. To end with the last
   * event of the log, set `follow` to false.
   */
  readonly live?: boolean | "only";
  /** Only items of this run, and items that belong to no run. */
  readonly runId?: string;
  /**
   * "run": the iterator ends after the `final` event of the run `runId` or, without `runId`, of the current run. If that run has already
   * ended, or no run is in progress, it ends with the last event of the log.
   */
  readonly until?: "run";
  /**
   * If true, the stream includes the items of child sessions at any depth: after the `child_started` of their call and
   * before its `tool_result`. Each item names its session. Cannot be combined with `limit`, `live`, `runId`, `until` and
   * `joinDeltas`. Default: false.
   */
  readonly children?: boolean;
  /**
   * If true, deltas of one text that are waiting for the consumer are joined: a consumer that is slower than the model gets fewer, longer
   * deltas. `n` is the number of joined deltas. Cannot be combined with `children`. Default: false.
   */
  readonly joinDeltas?: boolean;
  /**
   * With `children`: returns the items of a session after a cursor, for example including the deltas that another process streams. Called
   * once for each session of the stream. When `signal` is aborted, the items are no longer needed. Default: the session's own items.
   */
  readonly itemsOf?: (
    session: SessionSource,
    options: {
      /** The cursor after which the items begin. */
      readonly after: string;
      readonly signal: AbortSignal;
    },
  ) => AsyncGenerator<StreamItem, void, undefined>;
  /**
   * The session as the caller has just read it, for example its summary. If it has not begun (`seq` is 0), it is not read again.
   * Default: the session is read.
   */
  readonly seen?: Pick<SessionSummary, "seq" | "info">;
  readonly signal?: AbortSignal;
};

/** The options of a stream without child sessions. */
export type OneSessionOptions = Omit<EventsOptions, "children" | "itemsOf">;
