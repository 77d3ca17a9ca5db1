/**
 * A value that a person chose for a session, stored in the session's data.
 *
 * 1. A new value becomes the current one only when it is durable. Before the first message there is no session: then the value
 *    becomes current at once, and is stored once that message has been accepted, before the first model call.
 * 2. Reads and writes come one after another, so an earlier one never undoes a later one.
 */
import type { Session, SessionData } from "../../index.js";
import { loadSessionData } from "../permissions/save-rule.js";

export type ValueSession = Pick<Session, "id" | "data" | "setData">;

type Patch = Parameters<Session["setData"]>[0];

export type StoredValue<Value> = {
  readonly current: () => Value;
  /**
   * Computes the next value from the current one, after all earlier changes have ended. If there is a session, the value is
   * durable when the promise resolves. If it rejects, the value is unchanged.
   */
  readonly change: (update: (current: Value) => Value) => Promise<Value>;
  /** Reads the value from the session's data. */
  readonly load: () => Promise<void>;
  /** Stores a value that was chosen before there was a session. */
  readonly storePending: () => Promise<void>;
};

/** How a value is stored in a session's data. */
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
