/**
 * Stores that fail where a test says so.
 */
import type { Store } from "../../src/index.js";

export type FailingStore = {
  readonly store: Store;
  /** From the n-th commit from now on, commits fail; what is before them succeeds. */
  readonly failCommits: (from?: number, options?: { readonly afterWriting?: boolean }) => void;
  /** Every operation fails, reads too. */
  readonly failAll: () => void;
  readonly mend: () => void;
};

export function createFailingStore(inner: Store): FailingStore {
  let commitsLeft = Number.POSITIVE_INFINITY;
  let afterWriting = false;
  let isDown = false;
  const broken = () => new Error("the disk is gone");
  const guarded: Store = Object.fromEntries(
    Object.entries(inner).map(([name, operation]) => [
      name,
      (...values: readonly unknown[]) => {
        if (isDown && name !== "watch" && name !== "close") return Promise.reject(broken());
        return Reflect.apply(operation, inner, values);
      },
    ]),
  ) as unknown as Store;
  return {
    store: {
      ...guarded,
      async commit(lease, commit) {
        commitsLeft -= 1;
        if (commitsLeft > 0) return guarded.commit(lease, commit);
        if (afterWriting) await inner.commit(lease, commit);
        throw broken();
      },
    },
    failCommits(from = 1, options = {}) {
      commitsLeft = from;
      afterWriting = options.afterWriting === true;
    },
    failAll() {
      isDown = true;
    },
    mend() {
      commitsLeft = Number.POSITIVE_INFINITY;
      isDown = false;
    },
  };
}
