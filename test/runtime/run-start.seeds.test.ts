/**
 * What is read of a long log to start a run, and to follow the log from a place near its end. The tests count the entries that
 * the store returns: they are as many in a long session as in a short one.
 */
import { describe, expect, test } from "vitest";
import { createAgent, type Model, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { pickSampleCount } from "../support/sample-count.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

type CountingStore = {
  readonly store: Store;
  /** The entries that reads have returned since this was last called. */
  readonly entriesRead: () => number;
};

/** Counts the entries that reads return. */
function createCountingStore(inner: Store): CountingStore {
  let count = 0;
  const store: Store = {
    ...inner,
    async read(sessionId, after, limit) {
      const entries = await inner.read(sessionId, after, limit);
      count += entries.length;
      return entries;
    },
  };
  const entriesRead = () => {
    const read = count;
    count = 0;
    return read;
  };
  return { store, entriesRead };
}

const words = "A sentence of some length that fills the window. ".repeat(12);
const sessionId = "s";
const lengths = [20, 200, pickSampleCount({ quick: 300, long: 1_000 })] as const;
/** Runs after each length that are measured: several, so that they meet the model's view at all of its sizes. */
const samples = 20;
/** Entries that hold what the model sees: a run of one step is four entries, and the window of 2,000 tokens holds a few runs. */
const mostOfView = 40;
/** Entries of the first page that a reader without a known end asks for. */
const firstPage = 64;
/** Entries by which the lengths may differ: only the first compaction has none before it. */
const tolerance = 2;

/** A session with a small window, whose runs take one step. */
function createTalk(store: Store) {
  const model: Model = createScriptedModel(() => ({ text: words, usage: {} }));
  const summarizer = createScriptedModel(() => ({ text: "It was talked about." }), { id: "summarizer" });
  const agent = () => createAgent({ model, store, compaction: { contextWindow: 2_000, model: summarizer } });
  const owner = agent();
  const run = async () => {
    const { status } = await owner.run("And now?", { sessionId });
    if (status !== "completed") throw new Error(`the run is ${status}`);
  };
  return { agent, run };
}

/** Grows one session to each length, and gives the most that was measured in the runs that follow. */
async function atLengths(
  counting: CountingStore,
  measure: (talk: ReturnType<typeof createTalk>) => Promise<number>,
): Promise<readonly number[]> {
  const talk = createTalk(counting.store);
  const measured: number[] = [];
  let runs = 0;
  for (const length of lengths) {
    for (; runs < length; runs += 1) await talk.run();
    let most = 0;
    for (; runs < length + samples; runs += 1) most = Math.max(most, await measure(talk));
    measured.push(most);
  }
  return measured;
}

function expectFlat(measured: readonly number[], most: number, difference = tolerance): void {
  expect(Math.min(...measured), "nothing was read").toBeGreaterThan(0);
  expect(Math.max(...measured)).toBeLessThanOrEqual(most);
  expect(Math.max(...measured) - Math.min(...measured)).toBeLessThanOrEqual(difference);
}

describe.each(localStores)("in a session of 20, 200 and up to 1,000 runs on $name", ({ open }) => {
  test("the start of a run reads as many entries", verifies("LOOP-22"), async () => {
    await withStore(open, async (store) => {
      const counting = createCountingStore(store);
      const measured = await atLengths(counting, async ({ run }) => {
        counting.entriesRead();
        await run();
        return counting.entriesRead();
      });
      expectFlat(measured, mostOfView);
    });
  });

  test("the first event after a place near the end reads as many entries", verifies("STRM-9"), async () => {
    await withStore(open, async (store) => {
      const counting = createCountingStore(store);
      const measured = await atLengths(counting, async ({ agent, run }) => {
        await run();
        const session = agent().session(sessionId);
        const { seq } = await session.state();
        counting.entriesRead();
        for await (const item of session.events({ after: `${seq - 1}.1` })) {
          expect(item).toMatchObject({ seq });
          break;
        }
        return counting.entriesRead();
      });
      // The reader and the follower each read the view. A store may keep one state in 64 entries.
      expectFlat(measured, 2 * mostOfView, 64);
    });
  });

  test("a reader that leaves after a few events has read one small page", verifies("STRM-9"), async () => {
    await withStore(open, async (store) => {
      const counting = createCountingStore(store);
      const measured = await atLengths(counting, async ({ agent, run }) => {
        await run();
        const session = agent().session(sessionId);
        const middle = Math.floor((await session.state()).seq / 2);
        counting.entriesRead();
        let seen = 0;
        for await (const _ of session.events({ after: middle, follow: false })) {
          seen += 1;
          if (seen === 10) break;
        }
        expect(seen).toBe(10);
        return counting.entriesRead();
      });
      for (const entries of measured) expect(entries).toBeLessThanOrEqual(mostOfView + firstPage);
    });
  });
});
