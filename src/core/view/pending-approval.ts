/**
 * A question to a person or another program, as results and events show it.
 */
import type { JsonObject } from "../data/is-object.js";
import type { Json } from "../data/message.js";

/** A call that waits for an approval, for the answer to a recovery question or to its tool's question, or for a result from outside. */
export type PendingApproval = {
  readonly sessionId: string;
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** The input that the call would run with. */
  readonly input: Json;
  /** The SHA-256 of the canonical input. An answer with this hash counts only for this input. */
  readonly inputHash?: string;
  /** `tool`: the running tool asks. Answer with `reply` or `decline`. */
  readonly why: "policy" | "recovery" | "provider" | "external" | "tool";
  /** The text of the question. */
  readonly question?: string;
  /** Identifies the question among those of the tool. */
  readonly questionId?: string;
  /** The JSON Schema that the answer to a tool must fit. */
  readonly schema?: JsonObject;
  /** A page where the tool's question can be settled. */
  readonly url?: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly expiresAt?: number;
};
