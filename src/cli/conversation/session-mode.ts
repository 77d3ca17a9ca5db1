/**
 * The mode of the session that a conversation shows: read from its data, changed by the person. Before the first message there is
 * no session: then the mode is kept when that message was taken, and calls ask until it is.
 */
import type { Session } from "../../index.js";
import { dataOf } from "../permissions/keep.js";
import { type Mode, modeKey, modeOf } from "../permissions/mode.js";

export type SessionMode = {
  readonly present: () => Mode;
  /** Durable when it resolves, if there is a session. */
  readonly change: (next: Mode) => Promise<void>;
  /** Reads what the session keeps. */
  readonly load: () => Promise<void>;
  /** Keeps what was chosen before there was a session. */
  readonly keep: () => Promise<void>;
};

export function createSessionMode(session: Pick<Session, "id" | "data" | "setData">, by: string): SessionMode {
  let mode: Mode = "ask";
  let isKept = true;

  async function keep(): Promise<void> {
    if (isKept || (await dataOf(session)) === null) return;
    isKept = true;
    await session.setData(
      mode === "ask" ? { unset: [modeKey] } : { set: { [modeKey]: { session: session.id, is: mode } } },
      { by },
    );
  }

  return {
    present: () => mode,
    async change(next) {
      [mode, isKept] = [next, false];
      await keep();
    },
    async load() {
      if (isKept) mode = modeOf({ sessionId: session.id, data: (await dataOf(session)) ?? {} });
    },
    keep,
  };
}
