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

const files = ["abort-reason", "approvals", "compaction", "cut-off", "steer-skip"];

/** Tests of these files that need no store: they make agents whose options are refused. */
const withoutStore: ReadonlySet<string> = new Set(["options that cannot be meant are refused"]);

let opening: Promise<Store>[] = [];
let asked = 0;

function createStoreOf(open: OpenStore): Store {
  const store = open();
  store.catch(() => {});
  opening.push(store);
  const operation =
    (name: Exclude<keyof Store, "watch" | "tellsAllChanges">) =>
    async (...values: unknown[]) => {
      asked += 1;
      const inner = await store;
      return Reflect.apply(inner[name], inner, values);
    };
  return {
    tellsAllChanges: true,
    claim: operation("claim"),
    renew: operation("renew"),
    release: operation("release"),
    commit: operation("commit"),
    redact: operation("redact"),
    load: operation("load"),
    loadAt: operation("loadAt"),
    read: operation("read"),
    post: operation("post"),
    inbox: operation("inbox"),
    messageIds: operation("messageIds"),
    list: operation("list"),
    describe: operation("describe"),
    asking: operation("asking"),
    due: operation("due"),
    putBlob: operation("putBlob"),
    getBlob: operation("getBlob"),
    delete: operation("delete"),
    verify: operation("verify"),
    close: operation("close"),
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
  const all = opening;
  opening = [];
  for (const store of all) await (await store).close();
}

/** Adds the tests of the listed files, over stores that `open` opens. */
export function driverTests(open: OpenStore): void {
  const create = () => createStoreOf(open);
  vi.doMock("../../src/stores/memory/index.js", () => ({ createMemoryStore: create }));
  vi.doMock("../support/stores.js", async (original) => ({
    ...(await original<typeof import("../support/stores.js")>()),
    bothStores: [
      {
        name: "the store under test",
        open: async () => {
          const store = create();
          return { store, close: () => store.close() };
        },
      },
    ],
  }));
  afterAll(closeAll);
  for (const file of files)
    describe(file, async () => {
      beforeEach(() => {
        asked = 0;
      });
      afterEach(async ({ task }) => {
        await closeAll();
        if (task.result?.state !== "fail" && !withoutStore.has(task.name))
          expect(asked, "it has asked the store nothing").toBeGreaterThan(0);
      });
      await import(`../runtime/${file}.test.ts`);
    });
}
