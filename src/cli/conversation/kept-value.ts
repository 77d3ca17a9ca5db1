/**
 * A value that a person chose for a session, and that the session's data keeps.
 *
 * 1. It is the present one only when it is durable. Before the first message there is no session: then it is present at once, and
 *    is kept when that message was taken.
 * 2. Reads and writes come one after another, so an earlier one never undoes a later one.
 */
import type { Session, SessionData } from "../../index.js";
import { dataOf } from "../permissions/keep.js";

export type KeptSession = Pick<Session, "id" | "data" | "setData">;

type Patch = Parameters<Session["setData"]>[0];

export type KeptValue<Value> = {
  readonly present: () => Value;
  /**
   * Makes the next value from the present one, when the changes before are over. Durable when it resolves, if there is a session. If it
   * rejects, the value is as it was.
   */
  readonly change: (make: (present: Value) => Value) => Promise<Value>;
  /** Reads what the session keeps. */
  readonly load: () => Promise<void>;
  /** Keeps what was chosen before there was a session. */
  readonly keep: () => Promise<void>;
};

/** How a value is kept in a session's data. */
export type KeptForm<Value> = {
  readonly read: (data: SessionData) => Value;
  readonly patch: (value: Value) => Patch;
};

export function createKeptValue<Value>(
  session: KeptSession,
  by: string,
  { read, patch }: KeptForm<Value>,
): KeptValue<Value> {
  let present = read({});
  let isKept = true;
  let last: Promise<void> = Promise.resolve();

  function inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = last.then(work);
    last = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  const write = (value: Value) => session.setData(patch(value), { by });

  return {
    present: () => present,
    change: (make) =>
      inOrder(async () => {
        const next = make(present);
        const hasBegun = (await dataOf(session)) !== null;
        if (hasBegun) await write(next);
        [present, isKept] = [next, hasBegun];
        return next;
      }),
    load: () =>
      inOrder(async () => {
        if (isKept) present = read((await dataOf(session)) ?? {});
      }),
    keep: () =>
      inOrder(async () => {
        if (isKept || (await dataOf(session)) === null) return;
        await write(present);
        isKept = true;
      }),
  };
}
