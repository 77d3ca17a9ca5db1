/**
 * The mode of the session that a conversation shows: read from its data, changed by the person. A mode that was chosen before the
 * first message is stored before the first model call.
 *
 * Shift+Tab passes through *edits* on the way from *ask* to *plan*, and a call must not use that moment. So *edits* is stored only after a
 * short pause, or before the next message.
 */
import { type Mode, modeKey, modeOf, modes, toStoredMode } from "../permissions/mode.js";
import { createStoredValue, type StoredValue, type ValueSession } from "./stored-value.js";

export type SessionMode = StoredValue<Mode> & {
  /** Chooses the mode after the current one. */
  readonly next: () => Promise<Mode>;
  /** Stores a chosen mode without waiting for the pause. Null if there is none. */
  readonly flush: () => Promise<unknown> | null;
};

/** The pause in milliseconds after which no further Shift+Tab is expected. */
const pauseMs = 1_000;

/** @param onFailure called if the mode cannot be stored after the pause */
export function createSessionMode(
  session: ValueSession,
  by: string,
  onFailure: (error: unknown) => void = () => {},
): SessionMode {
  const stored = createStoredMode(session, by);
  /** The mode *edits*, chosen and not stored yet. */
  let chosen: { readonly timer: NodeJS.Timeout } | null = null;

  function forget(): void {
    if (chosen !== null) clearTimeout(chosen.timer);
    chosen = null;
  }

  function change(update: (current: Mode) => Mode): Promise<Mode> {
    const isChosen = chosen !== null;
    forget();
    return stored.change((present) => update(isChosen ? "edits" : present));
  }

  function flush(): Promise<unknown> | null {
    const storing = chosen;
    if (storing === null) return null;
    clearTimeout(storing.timer);
    return stored
      .change(() => "edits")
      .finally(() => {
        if (chosen === storing) chosen = null;
      });
  }

  return {
    ...stored,
    current: () => (chosen === null ? stored.current() : "edits"),
    change,
    async next() {
      const mode = findNextMode(chosen === null ? stored.current() : "edits");
      if (mode !== "edits") return change(() => mode);
      forget();
      chosen = { timer: setTimeout(() => flush()?.catch(onFailure), pauseMs) };
      return mode;
    },
    flush,
    async storePending() {
      await flush();
      await stored.storePending();
    },
  };
}

function findNextMode(mode: Mode): Mode {
  return modes[(modes.indexOf(mode) + 1) % modes.length] ?? "ask";
}

function createStoredMode(session: ValueSession, by: string): StoredValue<Mode> {
  return createStoredValue<Mode>(session, by, {
    read: (data) => modeOf({ sessionId: session.id, data }),
    patch: (mode) => (mode === "ask" ? { unset: [modeKey] } : { set: { [modeKey]: toStoredMode(session.id, mode) } }),
  });
}
