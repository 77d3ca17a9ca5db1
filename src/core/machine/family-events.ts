/**
 * The messages between a child session and its parent.
 */
import type { ChildSleep } from "./call-state.js";

type WithRunId = { readonly runId: string };

export type FamilyEventBody =
  /**
   * The child session of a call has been waiting for a person since `askedAt` (epoch milliseconds), or is not waiting (null): not any more,
   * or because its tool asks and keeps running. The report is about the child's entry `childSeq`; a report about an earlier entry than the
   * last report is stale.
   */
  | (WithRunId & {
      readonly type: "child_waiting";
      readonly callKey: string;
      readonly childId: string;
      readonly askedAt: number | null;
      /** Set if the child sleeps or waits for a signal, and no person is asked. From format 3 on. */
      readonly asleep?: ChildSleep;
      /** The child's entry that this report is about. */
      readonly childSeq: number;
    })
  /** This child session reported to its parent whether it waited for a person after its entry `toldSeq`, and since when. */
  | (WithRunId & {
      readonly type: "parent_told";
      readonly askedAt: number | null;
      /** The entry that the report to the parent was about. */
      readonly toldSeq: number;
    })
  /** This child session sent the result of its run to its parent. */
  | (WithRunId & { readonly type: "parent_notified" });
