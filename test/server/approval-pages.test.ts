/**
 * The list of what waits, page by page: each call once, and a page costs what it reads.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { type Ask, pay, withServer } from "./rig.js";

/** Sessions that wait for approvals, `calls` of each, in the order of the list. */
async function waiting(store: Store, calls: Record<string, number>, clock = createTestClock()) {
  for (const [sessionId, count] of Object.entries(calls)) {
    const model = createScriptedModel([
      { calls: Array.from({ length: count }, (_, at) => ({ name: "pay", input: { at } })) },
    ]);
    await createAgent({ name: "payer", model, tools: [pay], store, clock }).run("Pay.", {
      sessionId,
      runId: sessionId,
    });
  }
}

const keysOf = (calls: Record<string, number>) =>
  Object.entries(calls).flatMap(([id, count]) => Array.from({ length: count }, (_, at) => `${id}/1/${at + 1}`));

async function pages(ask: Ask, query: string, most = 500): Promise<string[][]> {
  const found: string[][] = [];
  for (let cursor = ""; found.length < most; ) {
    const { approvals, next } = (await ask("GET", `/v1/approvals?${query}${cursor}`)).json;
    found.push(approvals.map(({ callKey }: { callKey: string }) => callKey));
    if (next === null) return found;
    cursor = `&cursor=${next}`;
  }
  throw new Error(`There are more than ${most} pages.`);
}

describe.each(localStores)("what waits on $name", ({ open }) => {
  test(
    "comes once in each size of pages, also if everything was asked at the same time",
    verifies("SRV-1"),
    async () => {
      await withStore(open, async (store) => {
        const calls = { a: 12, b: 1, c: 2, d: 1 };
        await waiting(store, calls);
        await withServer({ store }, async ({ ask }) => {
          for (const limit of [1, 3, 5, 100])
            expect((await pages(ask, `limit=${limit}`)).flat()).toEqual(keysOf(calls));
          expect(await pages(ask, "limit=2&session=c")).toEqual([["c/1/1", "c/1/2"]]);
          expect(await pages(ask, "session=nobody")).toEqual([[]]);
        });
      });
    },
  );

  test("goes on behind a call that was answered meanwhile", verifies("SRV-1"), async () => {
    await withStore(open, async (store) => {
      await waiting(store, { a: 3, b: 1 });
      await withServer({ store }, async ({ ask }) => {
        const first = (await ask("GET", "/v1/approvals?limit=2")).json;
        const { callKey, inputHash } = first.approvals[1];
        const decision = { type: "deny" };
        await ask("POST", "/v1/sessions/a/answers", { callKey, inputHash, decision });
        const rest = (await ask("GET", `/v1/approvals?limit=2&cursor=${first.next}`)).json;
        expect(rest.approvals.map((one: { callKey: string }) => one.callKey)).toEqual(["a/1/3", "b/1/1"]);
        expect(rest.next).toBeNull();
      });
    });
  });
});

/** Counts the sessions that are given with their states, and the logs that are read. */
function counting(inner: Store) {
  const count = { asked: 0, reads: 0 };
  const store: Store = {
    ...inner,
    async asking(options) {
      const found = await inner.asking(options);
      count.asked += found.length;
      return found;
    },
    read(...given) {
      count.reads += 1;
      return inner.read(...given);
    },
  };
  return { store, count };
}

test("a page costs what it reads, wherever it begins in the list", verifies("SRV-1"), async () => {
  const { store, count } = counting(createMemoryStore());
  const ids = Array.from({ length: 200 }, (_, index) => `s${String(index).padStart(3, "0")}`);
  await waiting(store, Object.fromEntries(ids.map((id) => [id, 1])));
  await withServer({ store }, async ({ ask }) => {
    let cursor = "";
    const costs: { readonly asked: number; readonly reads: number }[] = [];
    const seen: string[] = [];
    for (let next: string | null = ""; next !== null; cursor = `&cursor=${next}`) {
      Object.assign(count, { asked: 0, reads: 0 });
      const { json } = await ask("GET", `/v1/approvals?limit=10${cursor}`);
      seen.push(...json.approvals.map(({ sessionId }: { sessionId: string }) => sessionId));
      costs.push({ ...count });
      ({ next } = json);
    }
    expect(seen).toEqual(ids);
    // Sixteen sessions are read at a time: their last entries, and the tools of the ten that are shown.
    for (const { asked, reads } of costs) {
      expect(asked).toBeLessThanOrEqual(16);
      expect(reads).toBeLessThanOrEqual(16 + 10 + 1);
    }
    Object.assign(count, { asked: 0, reads: 0 });
    await ask("GET", "/v1/approvals?session=s150");
    expect(count).toEqual({ asked: 0, reads: 2 });
  });
});
