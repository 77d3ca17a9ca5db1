/**
 * Why the driver of a session ended.
 */
import type { InterruptedReason } from "../../core/data/reasons.js";
import { PawlError } from "../../errors.js";

export type Closing =
  /** This process has nothing left to do. The lease is released. */
  | { readonly type: "parked" }
  | { readonly type: "interrupted"; readonly reason: InterruptedReason; readonly error?: unknown }
  /** A defect of Pawl, a hook or a store's code. */
  | { readonly type: "broken"; readonly error: unknown };

/** An error of an effect is a defect, unless a store failed. */
export function toClosing(error: unknown): Closing {
  const isStoreError = error instanceof PawlError && error.code === "store_failed";
  return isStoreError ? { type: "interrupted", reason: "store_failed", error } : { type: "broken", error };
}
