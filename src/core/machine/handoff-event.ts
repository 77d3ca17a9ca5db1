/**
 * What the log says of a handoff.
 */
import type { MessageRef } from "./message-ref.js";

export type HandoffEventBody = {
  readonly runId: string;
  readonly type: "handed_off";
  /** The call that asked for it. */
  readonly callKey: string;
  readonly from: string;
  readonly to: string;
  /** What the next agent is shown of the conversation, if not all of it. */
  readonly messages?: readonly MessageRef[];
};
