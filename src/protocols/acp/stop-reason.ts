/**
 * Maps the result of a run to an ACP stop reason.
 */
import type { StopReason } from "@agentclientprotocol/sdk";
import type { Reason, RunResult } from "../../index.js";
import { describeWaits } from "../describe-waits.js";

export type TurnEnd =
  | {
      readonly type: "stopped";
      readonly stopReason: StopReason /** The reason, for the person. */;
      readonly note?: string;
    }
  /** The prompt fails with this message. */
  | { readonly type: "failed"; readonly message: string };

const stopReasons: { readonly [R in Reason]?: StopReason } = {
  max_steps: "max_turn_requests",
  max_cost: "max_turn_requests",
  max_wall_clock: "max_turn_requests",
  repeated_call: "max_turn_requests",
  max_tokens: "max_tokens",
  context_limit: "max_tokens",
  output_limit: "max_tokens",
  refused: "refusal",
  content_filter: "refusal",
  output_refused: "refusal",
};

export function toTurnEnd(result: RunResult): TurnEnd {
  switch (result.status) {
    case "completed":
      return { type: "stopped", stopReason: "end_turn" };
    case "aborted":
      return { type: "stopped", stopReason: "cancelled" };
    case "failed": {
      const stopReason = stopReasons[result.reason];
      const message = result.error?.message ?? result.text;
      return stopReason === undefined ? { type: "failed", message } : { type: "stopped", stopReason, note: message };
    }
    case "interrupted":
      return { type: "failed", message: result.error?.message ?? result.text };
    case "waiting":
      return { type: "stopped", stopReason: "end_turn", note: describeWaits(result.waits) };
    case "awaiting_human":
      return { type: "failed", message: "The run waits for an answer that this editor cannot give." };
  }
}
