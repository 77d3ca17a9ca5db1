/**
 * A question to a person or to another program, as results and events show it.
 */
import type { Json } from "../data/message.js";

/** A call that waits for an approval, for an answer to a question of recovery, or for a result from outside. */
export type PendingApproval = {
  readonly sessionId: string;
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: Json;
  /** SHA-256 of the canonical input. An answer with this hash counts only for this input. */
  readonly inputHash?: string;
  readonly why: "policy" | "recovery" | "external";
  readonly question?: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly expiresAt?: number;
};
