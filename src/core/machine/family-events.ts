/**
 * What a child session and its parent say to each other.
 */
import type { ChildSleep } from "./call-state.js";

type WithRunId = { readonly runId: string };

export type FamilyEventBody =
  /**
   * The child session of a call waits for a person since `askedAt` (epoch milliseconds), or does not (null): no more, or
   * because its tool asks and goes on running. The report is about the child's entry `childSeq`; a report about an
   * earlier entry than the last one is stale.
   */
  | (WithRunId & {
      readonly type: "child_waiting";
      readonly callKey: string;
      readonly childId: string;
      readonly askedAt: number | null;
      /** The child sleeps or waits for a signal, and no person is asked. From format 3 on. */
      readonly asleep?: ChildSleep;
      /** The entry of the child that this report is about. */
      readonly childSeq: number;
    })
  /** This child session told its parent whether it waited for a person after its entry `toldSeq`, and since when. */
  | (WithRunId & {
      readonly type: "parent_told";
      readonly askedAt: number | null;
      /** The entry that the parent was told of. */
      readonly toldSeq: number;
    })
  /** This child session sent the result of its run to its parent. */
  | (WithRunId & { readonly type: "parent_notified" });
