/**
 * A store on which the commit that gives a session back is written, and acknowledged when the test says so.
 */
import { createMemoryStore, type Store } from "../../src/index.js";
import { createDeferred } from "./agents.js";

export type PausedReleaseStore = {
  readonly store: Store;
  readonly inner: Store;
  /** Resolves when the commit is written. */
  readonly written: Promise<void>;
  readonly acknowledge: () => void;
};

export function createPausedReleaseStore(): PausedReleaseStore {
  const inner = createMemoryStore();
  const written = createDeferred();
  const acknowledged = createDeferred();
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      if (commit.release === true) {
        written.resolve();
        await acknowledged.promise;
      }
      return result;
    },
  };
  return { store, inner, written: written.promise, acknowledge: acknowledged.resolve };
}
