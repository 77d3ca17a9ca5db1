/**
 * The items of a stream: of a session, and of the sessions below it.
 */
import type { AssistantMessage, ToolOutput } from "../../core/data/message.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { MessageDelta } from "../../ports/model.js";
import type { OpenTextPart, WrittenInput } from "../model/assembled-message.js";
import type { PartialOutput } from "../model/partial-output.js";

/** The message that is being streamed, for a consumer that joins in the middle. Later deltas continue it. */
export type Snapshot = {
  readonly type: "snapshot";
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The number of the last delta that the message includes. */
  readonly deltaSeq: number;
  /** The message so far, including parts that have begun and are still empty. */
  readonly message: AssistantMessage;
  /** The parts that later deltas may add to: the id that the deltas name, and the index of the part in the message. */
  readonly open: readonly OpenTextPart[];
  /** The arguments of tool calls that are being written: the id that the deltas name, the tool, and the text so far. */
  readonly inputs: readonly WrittenInput[];
};

/**
 * The newest result that a running call has yielded, at most 50 KiB of it. It takes the place of the one before. Live
 * only: the log has the result of the call.
 */
export type Preliminary = { readonly type: "preliminary"; readonly callKey: string; readonly output: ToolOutput };

/** `Output` is the type that the option `output` of the run gives. */
export type StreamItem<Output = never> =
  | PublicEvent
  | { readonly type: "delta"; readonly delta: MessageDelta }
  | Snapshot
  | { readonly type: "progress"; readonly callKey: string; readonly note: string }
  | Preliminary
  | PartialOutput<Output>
  /** Items were dropped. The events from this entry on follow from the log, then a snapshot of the streamed message. */
  | { readonly type: "lagged"; readonly fromSeq: number };

/** The session of an item in a stream with children. */
export type OfFamily = {
  readonly sessionId: string;
  /** The call that started the session. Absent at depth 0. */
  readonly parent?: { readonly sessionId: string; readonly callKey: string };
  /** 0: the session of the stream; 1: a child of it; and so on. */
  readonly depth: number;
};

/**
 * An item of a stream with children. Public events have a `cursor`: `events({ children: true, after: cursor })` gives
 * exactly what follows, for the session and for each child.
 */
export type FamilyItem = OfFamily &
  (
    | (PublicEvent & { readonly cursor: string })
    | Exclude<StreamItem, PublicEvent>
    /** Nothing is told of this child: more than 4,096 sessions are open, or its log cannot be read. */
    | { readonly type: "children_omitted"; readonly why: "too_many" | "unreadable"; readonly cursor: string }
  );

/** How the items of one session are read. */
export type ItemsOptions = {
  /** Behind event `index` of entry `seq`. */
  readonly from: { readonly seq: number; readonly index: number };
  /** The items end when this is aborted. Those that have arrived by then are still given. */
  readonly signal: AbortSignal | undefined;
  /** How many items may wait for the consumer. Default: 1,024. */
  readonly mostBehind?: number;
  /** The most public events. Default: no limit. */
  readonly limit?: number;
  /** As in `EventsOptions`. */
  readonly live?: boolean | "only";
  /** Only items of this run. */
  readonly runId?: string;
  /** The items end behind the end of this run, also if it is not among the wanted ones. */
  readonly until?: string;
};

/** The items of a session of one agent: those of the log first, then live ones. */
export type ItemsOf = (sessionId: string, options: ItemsOptions) => AsyncGenerator<StreamItem, void, undefined>;

export type EventsOptions = {
  /**
   * The number of an entry, or the position of an event (`"57.2"`: entry and index). With `children`, also the `cursor`
   * of an item. Default: 0, the start.
   */
  readonly after?: number | string;
  /** If false, the iterator ends with the last event of the log. Default: true. */
  readonly follow?: boolean;
  /** The most public events: a page. The iterator ends with the last of them. Default: no limit. */
  readonly limit?: number;
  /**
   * If false, only public events come: no deltas, and nothing else that the log does not keep. If "only", just these come,
   * and no public events. Default: true, both.
   */
  readonly live?: boolean | "only";
  /** Only items of this run, and those that belong to no run. */
  readonly runId?: string;
  /**
   * "run": the iterator ends behind the `final` of the run `runId` or, without `runId`, of the run that is under way. If
   * that run has ended already, or none is under way, it ends with the last event of the log.
   */
  readonly until?: "run";
  /**
   * If true, the items of child sessions at any depth come, too: behind the `child_started` of their call and before its
   * `tool_result`. Each item says of which session it is. `limit`, `live`, `runId` and `until` do not go with it.
   * Default: false.
   */
  readonly children?: boolean;
  readonly signal?: AbortSignal;
};
