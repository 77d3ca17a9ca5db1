/**
 * Sends signals to the tools that wait for them, in all sessions of a store.
 */
import { checkOptions, nonEmptyString, numberFrom, type OptionTable } from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { findIdProblem } from "../../core/data/ids.js";
import { checkJson, copyJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import { findSignalKeyFault, maxSignalsOfKey } from "../../ports/signal.js";
import type { Store } from "../../ports/store.js";
import { checkNoteAndBy } from "./check-answer.js";

/** How a signal is sent. */
export type SignalOptions = {
  /** For example the id of a webhook's delivery. A signal counts once per id and key while it is kept. Default: a new id. */
  readonly id?: string;
  /**
   * How many milliseconds the signal is kept for waits that begin later, at most 400 days. 0: only waits that are open now get it. Default:
   * 7 days.
   */
  readonly keepMs?: number;
  /** Who sends it, in the caller's own terms. */
  readonly by?: string;
};

/** The outcome of a sent signal. */
export type SentSignal = {
  /** The id of the signal. */
  readonly id: string;
  /** False if a signal with this id and key is already kept. Nothing else was done. */
  readonly isNew: boolean;
  /** The sessions whose tools were waiting and got it. */
  readonly sessions: readonly string[];
};

/**
 * Sends a signal to all tools that wait for its key (`ctx.waitFor`), and keeps it for tools that wait later. Resolves when the signal is
 * durable.
 *
 * @param value plain JSON, at most 64 KiB. Default: null
 * @throws PawlError `bad_input`, `signal_full`, `store_lacks`
 */
export type SendSignal = (key: string, value?: Json, options?: SignalOptions) => Promise<SentSignal>;

const aDayMs = 86_400_000;
const maxKeepMs = 400 * aDayMs;
const maxValueBytes = 64 * 1024;

const signalRules: OptionTable<SignalOptions> = {
  id: nonEmptyString,
  keepMs: numberFrom(0, maxKeepMs),
  by: nonEmptyString,
};

export function createSendSignal(store: Store, clock: Clock, makeId: MakeId): SendSignal {
  return async (key, value = null, options = {}) => {
    checkOptions("signal()", signalRules, options, { code: "bad_input" });
    const { id = makeId(), keepMs = 7 * aDayMs, by } = options;
    checkNoteAndBy({ by });
    const fault = findSignalKeyFault(key) ?? findIdFault(id);
    if (fault !== undefined) throw new PawlError("bad_input", `Invalid signal: ${fault}.`);
    const checked = checkJson(value, { maxBytes: maxValueBytes });
    if (!checked.ok) throw new PawlError("bad_input", `Invalid value of the signal "${key}": ${checked.error}`);
    const { signals } = store;
    if (signals === undefined)
      throw new PawlError(
        "store_lacks",
        "This store does not support signals: it has no member `signals`. Use one of Pawl's stores, or add that member to your own.",
      );
    const at = clock.now();
    const sent = await signals.send({
      key,
      id,
      at,
      keptUntil: at + keepMs,
      value: copyJson(checked.value),
      ...defined({ by }),
    });
    if (sent.type === "full")
      throw new PawlError(
        "signal_full",
        `The store already keeps ${maxSignalsOfKey} signals with the key "${key}", which is the maximum. Give each thing its own key, such as "order-1041-paid", or keep signals for less time (keepMs).`,
      );
    return deepFreeze({ id, isNew: sent.isNew, sessions: sent.sessions });
  };
}

function findIdFault(id: string): string | undefined {
  const problem = findIdProblem(id);
  return problem === null ? undefined : `\`id\` ${problem}`;
}
