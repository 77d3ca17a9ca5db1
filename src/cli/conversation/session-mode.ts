/**
 * The mode of the session that a conversation shows: read from its data, changed by the person. A mode that was chosen before the
 * first message is stored before the first model call.
 */
import { type Mode, modeKey, modeOf, toStoredMode } from "../permissions/mode.js";
import { createStoredValue, type StoredValue, type ValueSession } from "./stored-value.js";

export type SessionMode = StoredValue<Mode>;

export function createSessionMode(session: ValueSession, by: string): SessionMode {
  return createStoredValue<Mode>(session, by, {
    read: (data) => modeOf({ sessionId: session.id, data }),
    patch: (mode) => (mode === "ask" ? { unset: [modeKey] } : { set: { [modeKey]: toStoredMode(session.id, mode) } }),
  });
}
