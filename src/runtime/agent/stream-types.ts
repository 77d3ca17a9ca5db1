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
export type Preliminary = {
  readonly type: "preliminary";
  readonly callKey: string;
  /** What the call has yielded. */
  readonly output: ToolOutput;
};

/** `Output` is the type that the option `output` of the run gives. */
export type StreamItem<Output = never> =
  | PublicEvent
  /** `n`, only with the option `joinDeltas`: how many deltas it stands for. It has the number of the last of them. */
  | {
      readonly type: "delta";
      /** The delta. */
      readonly delta: MessageDelta;
      /** How many deltas it stands for. Present only with the option `joinDeltas`. */
      readonly n?: number;
    }
  | Snapshot
  /** What a running call says about its progress: `ctx.progress(note)`. Live only. */
  | { readonly type: "progress"; readonly callKey: string; readonly note: string }
  | Preliminary
  | PartialOutput<Output>
  /** Items were dropped. The events from this entry on follow from the log, then a snapshot of the streamed message. */
  | {
      readonly type: "lagged";
      /** The entry from which on the events follow. */
      readonly fromSeq: number;
    };

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
  /** A public event, and its place in the stream with children. */
  (
    | (PublicEvent & {
        /** The place of the event in the stream with children. */
        readonly cursor: string;
      })
    | Exclude<StreamItem, PublicEvent>
    /** Nothing is told of this child: more than 4,096 sessions are open, or its log cannot be read. */
    | {
        readonly type: "children_omitted";
        /** Why nothing is told. */
        readonly why: "too_many" | "unreadable";
        /** The place in the stream with children. */
        readonly cursor: string;
      }
  );

/** How the items of one session are read. */
export type ItemsOptions = {
  /** Behind event `index` of entry `seq`. */
  readonly from: { readonly seq: number; readonly index: number };
  /** The items end when this is aborted. Those that have arrived by then are still given. */
  readonly signal: AbortSignal | undefined;
  /** How many items may wait for the consumer. Default: 1,024. */
  readonly maxBehind?: number;
  /** The most public events. Default: no limit. */
  readonly limit?: number;
  /** As in `EventsOptions`. */
  readonly live?: boolean | "only";
  /** Only items of this run. */
  readonly runId?: string;
  /** The items end behind the end of this run, also if it is not among the wanted ones. */
  readonly until?: string;
  /** As in `EventsOptions`. */
  readonly joinDeltas?: boolean;
};

/** The items of a session of one agent: those of the log first, then live ones. */
export type ItemsOf = (sessionId: string, options: ItemsOptions) => AsyncGenerator<StreamItem, void, undefined>;

/** A session as this process reads it: its log, and live items if the session is driven here. */
export type SessionSource = {
  /** The id of the session. */
  readonly id: string;
  /** Its items. */
  readonly events: (options: {
    /** The place behind which they begin. */
    readonly after: number | string;
    /** Default: true. */
    readonly follow?: boolean;
    /** As in `EventsOptions`. */
    readonly joinDeltas?: boolean;
    readonly signal?: AbortSignal;
  }) => AsyncGenerator<StreamItem, void, undefined>;
};

/**
 * Which items of a session are wanted.
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
  /**
   * If true, deltas of one text that wait for the consumer come as one: a consumer that is slower than the model gets
   * fewer and longer ones. Its `n` says how many they were. Does not go with `children`. Default: false.
   */
  readonly joinDeltas?: boolean;
  /**
   * With `children`: gives the items of a session behind a place, for example with the deltas that another process
   * streams. It is called once for each session of the stream. When `signal` is aborted, its items are not wanted any
   * more. Default: what the session itself gives.
   */
  readonly itemsOf?: (
    session: SessionSource,
    options: {
      /** The place behind which the items begin. */
      readonly after: string;
      readonly signal: AbortSignal;
    },
  ) => AsyncGenerator<StreamItem, void, undefined>;
  readonly signal?: AbortSignal;
};

/** Without the sessions below. */
export type OneSessionOptions = Omit<EventsOptions, "children" | "itemsOf">;
