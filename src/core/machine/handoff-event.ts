/**
 * What the log says of a handoff.
 */
import type { MessageRef } from "./message-ref.js";

export type HandoffEventBody = {
  readonly runId: string;
  readonly type: "handed_off";
  /** The call that asked for it. */
  readonly callKey: string;
  /** The agent that had the session. */
  readonly from: string;
  /** The agent that has it from now on. */
  readonly to: string;
  /** What the next agent is shown of the conversation, if not all of it. */
  readonly messages?: readonly MessageRef[];
};
