/**
 * The sleeps of a run's tools, and their waits for signals, as data.
 */
import { defined } from "../data/defined.js";
import { hasCalls, type State, type WaitKind } from "../machine/state.js";

/** A tool's sleep, its wait for a signal, or a sleeping child session. */
export type RunWait = {
  readonly callKey: string;
  /** When the wait ends at the latest, in epoch milliseconds. Absent: it does not expire. */
  readonly until?: number;
} & (
  | {
      /** `time`: the tool sleeps. `signal`: it waits for a signal. */
      readonly on: WaitKind;
      /** The name of the sleep or wait among the steps of the call. */
      readonly step: string;
      /** The key of the signal. */
      readonly key?: string;
      /** How many signals this wait has skipped because their values did not fit its schema. */
      readonly passedOver?: number;
    }
  | {
      /** `child`: the session that the call started sleeps or waits for a signal. */
      readonly on: "child";
      /** The id of that session. */
      readonly childId: string;
    }
);

/** The sleeps and waits for signals of a session, in call order. */
export function listWaits(state: State): readonly RunWait[] {
  if (!hasCalls(state)) return [];
  return state.calls.flatMap((call): readonly RunWait[] => {
    const { callKey } = call;
    if (call.status === "waiting" && call.on === "child" && call.asleep !== undefined && call.childId !== undefined)
      return [{ callKey, on: "child", childId: call.childId, ...call.asleep }];
    if (call.status !== "asking" || call.open === undefined) return [];
    return call.open.flatMap(({ step, for: on, expiresAt: until, key }) =>
      on === undefined ? [] : [{ callKey, step, on, ...defined({ until, key }), ...passedOver(step) }],
    );
  });
}

/** A wait that skips a signal continues as a separate step: `paid`, `paid/2`, `paid/3`. Authors cannot use a slash in step names. */
export function passedOver(step: string): { readonly passedOver?: number } {
  const [, number] = step.split("/");
  return number === undefined ? {} : { passedOver: Number(number) - 1 };
}
