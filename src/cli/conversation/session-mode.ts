/**
 * The mode of the session that a conversation shows: read from its data, changed by the person. Before the first message
 * calls ask, whatever was chosen, until it is kept.
 */
import { type Mode, modeKey, modeOf } from "../permissions/mode.js";
import { createKeptValue, type KeptSession, type KeptValue } from "./kept-value.js";

export type SessionMode = KeptValue<Mode>;

export function createSessionMode(session: KeptSession, by: string): SessionMode {
  return createKeptValue<Mode>(session, by, {
    read: (data) => modeOf({ sessionId: session.id, data }),
    patch: (mode) =>
      mode === "ask" ? { unset: [modeKey] } : { set: { [modeKey]: { session: session.id, is: mode } } },
  });
}
