/**
 * The observer port: code that watches, and can change nothing.
 */
import type { PublicEvent } from "../core/public-event.js";
import type { MessageDelta } from "./model.js";

/** Receives every committed event and every delta. */
export type Observer = {
  readonly name?: string;
  readonly onEvent?: (event: PublicEvent) => unknown;
  readonly onDelta?: (delta: MessageDelta, sessionId: string) => unknown;
};
