/**
 * The event of a handoff.
 */
import type { MessageRef } from "./message-ref.js";

export type HandoffEventBody = {
  readonly runId: string;
  readonly type: "handed_off";
  /** The call that requested the handoff. */
  readonly callKey: string;
  /** The agent that had the session. */
  readonly from: string;
  /** The agent that has the session from now on. */
  readonly to: string;
  /** The messages that the next agent sees, if it does not see the whole conversation. */
  readonly messages?: readonly MessageRef[];
};
