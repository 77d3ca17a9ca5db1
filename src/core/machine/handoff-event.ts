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
  /** The agent that has it from now on. */
  readonly to: string;
  /** The messages that the next agent is shown, if it is not shown the whole conversation. */
  readonly messages?: readonly MessageRef[];
};
