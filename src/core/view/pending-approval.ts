/**
 * A question to a person or to another program, as results and events show it.
 */
import type { JsonObject } from "../data/is-object.js";
import type { Json } from "../data/message.js";

/**
 * A call that waits for an approval, for an answer to a recovery question or to a question of its tool, or for a result
 * from outside.
 */
export type PendingApproval = {
  readonly sessionId: string;
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** The input that the call would run with. */
  readonly input: Json;
  /** SHA-256 of the canonical input. An answer with this hash counts only for this input. */
  readonly inputHash?: string;
  /** `tool`: the tool asks while it runs. Answer `reply` or `decline`. */
  readonly why: "policy" | "recovery" | "provider" | "external" | "tool";
  /** The question for the person, in words. */
  readonly question?: string;
  /** Which question of the tool this is. */
  readonly questionId?: string;
  /** The JSON Schema that the answer to a tool must fit. */
  readonly schema?: JsonObject;
  /** A page where the tool's question is to be settled. */
  readonly url?: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly expiresAt?: number;
};
