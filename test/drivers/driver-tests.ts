/**
 * The driver's tests, over another store than memory.
 *
 * The files of test/runtime are written once. Here they are imported after `createMemoryStore` was replaced, so that whatever opens a
 * store without a word, an agent's default included, gets one of the kind under test. A test that has asked it nothing fails.
 *
 * The list is a choice: files whose tests need no clock of their own in the store, within the time that CI has for them.
 */
import { afterAll, afterEach, beforeEach, describe, expect, vi } from "vitest";
import type { Store } from "../../src/ports/store.js";

/** Opens a new, empty store. */
export type OpenStore = () => Promise<Store>;

const testFiles = ["abort-reason", "approvals", "compaction", "cut-off", "steer-skip"];

/** Tests of these files that need no store: they make agents whose options are refused. */
const withoutStore: ReadonlySet<string> = new Set(["options that cannot be meant are refused"]);

let openingStores: Promise<Store>[] = [];
let callCount = 0;

function createLazyStore(open: OpenStore): Store {
  const store = open();
  store.catch(() => {});
  openingStores.push(store);
  const forward =
    (name: Exclude<keyof Store, "watch" | "tellsAllChanges" | "signals" | "schedules" | "notices">) =>
    async (...args: unknown[]) => {
      callCount += 1;
      const inner = await store;
      return Reflect.apply(inner[name], inner, args);
    };
  return {
    tellsAllChanges: true,
    claim: forward("claim"),
    renew: forward("renew"),
    release: forward("release"),
    commit: forward("commit"),
    redact: forward("redact"),
    load: forward("load"),
    loadAt: forward("loadAt"),
    read: forward("read"),
    post: forward("post"),
    inbox: forward("inbox"),
    messageIds: forward("messageIds"),
    list: forward("list"),
    describe: forward("describe"),
    asking: forward("asking"),
    due: forward("due"),
    putBlob: forward("putBlob"),
    getBlob: forward("getBlob"),
    delete: forward("delete"),
    verify: forward("verify"),
    close: forward("close"),
    watch(listener) {
      let stop: (() => void) | null = null;
      let isStopped = false;
      void store.then(
        (inner) => {
          if (!isStopped) stop = inner.watch(listener);
          // What came before it listened.
          if (!isStopped) listener({ gap: true });
        },
        () => {},
      );
      return () => {
        isStopped = true;
        stop?.();
      };
    },
  };
}

async function closeAll(): Promise<void> {
  const stores = openingStores;
  openingStores = [];
  for (const store of stores) await (await store).close();
}

/** Adds the tests of the listed files, over stores that `open` opens. */
export function defineDriverTests(open: OpenStore): void {
  const createStore = () => createLazyStore(open);
  vi.doMock("../../src/stores/memory/index.js", () => ({ createMemoryStore: createStore }));
  vi.doMock("../support/stores.js", async (original) => ({
    ...(await original<typeof import("../support/stores.js")>()),
    localStores: [
      {
        name: "the store under test",
        open: async () => {
          const store = createStore();
          return { store, close: () => store.close() };
        },
      },
    ],
  }));
  afterAll(closeAll);
  for (const file of testFiles)
    describe(file, async () => {
      beforeEach(() => {
        callCount = 0;
      });
      afterEach(async ({ task }) => {
        await closeAll();
        if (task.result?.state !== "fail" && !withoutStore.has(task.name))
          expect(callCount, "it has asked the store nothing").toBeGreaterThan(0);
      });
      await import(`../runtime/${file}.test.ts`);
    });
}
