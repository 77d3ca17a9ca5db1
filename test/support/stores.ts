/**
 * Stores for tests of runs: of both kinds, and some that fail or wait where a test says so.
 */
import { createMemoryStore, type Store } from "../../src/index.js";
import { openFileStore } from "../stores/open.js";
import { createDeferred } from "./agents.js";

export type FailingStore = {
  readonly store: Store;
  /** From the n-th commit from now on, commits fail; what is before them succeeds. */
  readonly failCommits: (from?: number, options?: { readonly afterWriting?: boolean }) => void;
  /** Every operation fails, reads too. */
  readonly failAll: () => void;
  readonly repair: () => void;
};

export function createFailingStore(inner: Store): FailingStore {
  let commitsLeft = Number.POSITIVE_INFINITY;
  let afterWriting = false;
  let isDown = false;
  const createDiskError = () => new Error("the disk is gone");
  const intercepted: Store = Object.fromEntries(
    Object.entries(inner).map(([name, method]) => {
      // Signals and schedules do not fail.
      if (typeof method === "object") return [name, method];
      const guardedOperation = (...args: readonly unknown[]) => {
        if (isDown && name !== "watch" && name !== "close") return Promise.reject(createDiskError());
        return Reflect.apply(method, inner, args);
      };
      return [name, guardedOperation];
    }),
  ) as unknown as Store;
  return {
    store: {
      ...intercepted,
      async commit(lease, commit) {
        commitsLeft -= 1;
        if (commitsLeft > 0) return intercepted.commit(lease, commit);
        if (afterWriting) await inner.commit(lease, commit);
        throw createDiskError();
      },
    },
    failCommits(from = 1, options = {}) {
      commitsLeft = from;
      afterWriting = options.afterWriting === true;
    },
    failAll() {
      isDown = true;
    },
    repair() {
      commitsLeft = Number.POSITIVE_INFINITY;
      isDown = false;
    },
  };
}

/** A store in memory, and the blobs that were written to it, as texts, in order. */
export function createBlobRecordingStore(): { readonly store: Store; readonly written: readonly string[] } {
  const written: string[] = [];
  const inner = createMemoryStore();
  const store: Store = {
    ...inner,
    putBlob(sessionId, bytes) {
      written.push(Buffer.from(bytes).toString());
      return inner.putBlob(sessionId, bytes);
    },
  };
  return { store, written };
}

/** The stores that need no server, each opened anew for a test and closed with it. */
export const localStores: readonly { readonly name: string; readonly open: () => Promise<OpenStore> }[] = [
  {
    name: "memory",
    open: async () => {
      const store = createMemoryStore();
      return { store, close: () => store.close() };
    },
  },
  { name: "SQLite", open: () => openFileStore({ synchronous: "normal" }) },
];

type OpenStore = { readonly store: Store; readonly close: () => Promise<void> };

/** Runs work with each store, closed afterwards. */
export async function withStore(open: () => Promise<OpenStore>, work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = await open();
  try {
    await work(store);
  } finally {
    await close();
  }
}

/** Holds back the first commit that has an event of this type. */
export function createPausingStore(type: string) {
  const inner = createMemoryStore();
  const [reached, released] = [createDeferred(), createDeferred()];
  let isPaused = false;
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      if (!isPaused && commit.events.some((event) => event.type === type)) {
        isPaused = true;
        reached.resolve();
        await released.promise;
      }
      return await inner.commit(lease, commit);
    },
  };
  return { store, reached: reached.promise, release: released.resolve };
}
