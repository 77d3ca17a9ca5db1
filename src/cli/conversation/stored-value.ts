/**
 * A value that a person chose for a session, and that the session's data keeps.
 *
 * 1. It is the present one only when it is durable. Before the first message there is no session: then it is present at once, and
 *    is kept when that message was taken.
 * 2. Reads and writes come one after another, so an earlier one never undoes a later one.
 */
import type { Session, SessionData } from "../../index.js";
import { loadSessionData } from "../permissions/save-rule.js";

export type ValueSession = Pick<Session, "id" | "data" | "setData">;

type Patch = Parameters<Session["setData"]>[0];

export type StoredValue<Value> = {
  readonly current: () => Value;
  /**
   * Makes the next value from the present one, when the changes before are over. Durable when it resolves, if there is a session. If it
   * rejects, the value is as it was.
   */
  readonly change: (update: (current: Value) => Value) => Promise<Value>;
  /** Reads what the session keeps. */
  readonly load: () => Promise<void>;
  /** Keeps what was chosen before there was a session. */
  readonly storePending: () => Promise<void>;
};

/** How a value is kept in a session's data. */
export type ValueCodec<Value> = {
  readonly read: (data: SessionData) => Value;
  readonly patch: (value: Value) => Patch;
};

export function createStoredValue<Value>(
  session: ValueSession,
  by: string,
  { read, patch }: ValueCodec<Value>,
): StoredValue<Value> {
  let current = read({});
  let isStored = true;
  let queue: Promise<void> = Promise.resolve();

  function enqueue<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = queue.then(task);
    queue = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  const write = (value: Value) => session.setData(patch(value), { by });

  return {
    current: () => current,
    change: (update) =>
      enqueue(async () => {
        const next = update(current);
        const hasBegun = (await loadSessionData(session)) !== null;
        if (hasBegun) await write(next);
        [current, isStored] = [next, hasBegun];
        return next;
      }),
    load: () =>
      enqueue(async () => {
        if (isStored) current = read((await loadSessionData(session)) ?? {});
      }),
    storePending: () =>
      enqueue(async () => {
        if (isStored || (await loadSessionData(session)) === null) return;
        await write(current);
        isStored = true;
      }),
  };
}
