/**
 * A person's verdict on a session. It is stored in the session's data, because people label sessions that have ended.
 */
import type { Json } from "./message.js";

/** The key of the label in the session's data. */
export const labelKey = "pawl.label";

/** A person's verdict on a session. */
export type Label = {
  /** Whether the person considers the session good. */
  readonly good: boolean;
  /** The reason. */
  readonly note?: string;
};

/** Reads a label from the session's data; null if the value is not a label. */
export function readLabel(value: Json | undefined): Label | null {
  if (typeof value !== "object" || value === null || !("good" in value) || typeof value.good !== "boolean") return null;
  const note = "note" in value && typeof value.note === "string" && value.note !== "" ? value.note : undefined;
  return { good: value.good, ...(note === undefined ? {} : { note }) };
}
