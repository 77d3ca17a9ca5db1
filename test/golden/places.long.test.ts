/**
 * Public events from any place on: at every place of the golden logs, `events({ after })` gives exactly the rest.
 */
import { describe, expect, test } from "vitest";
import { createAgent, type PublicEvent, type Session, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { presentRecordings } from "./present.js";
import { loadInto } from "./recording.js";

async function eventsAfter(session: Session, after: number | string): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const item of session.events({ after, follow: false })) events.push(item as PublicEvent);
  return events;
}

describe.each(localStores)("in $name", ({ open }) => {
  describe.each(presentRecordings)("$name", verifies("STRM-9"), ({ recording }) => {
    const inStore = (work: (store: Store) => Promise<void>) =>
      withStore(open, async (store) => {
        await loadInto(store, recording);
        await work(store);
      });
    const sessionOf = (store: Store, sessionId: string) =>
      createAgent({ model: createScriptedModel([]), store }).session(sessionId);

    test("each event has a place of its own: entries in order, and counted from 1 within an entry", () =>
      inStore(async (store) => {
        for (const { sessionId } of recording.sessions) {
          const events = await eventsAfter(sessionOf(store, sessionId), 0);
          let last = { seq: 0, index: 0 };
          for (const { seq, index } of events) {
            expect(seq === last.seq ? index === last.index + 1 : seq > last.seq && index === 1).toBe(true);
            last = { seq, index };
          }
        }
      }));

    test("what follows a place is exactly the rest", () =>
      inStore(async (store) => {
        for (const { sessionId } of recording.sessions) {
          const session = sessionOf(store, sessionId);
          const all = await eventsAfter(session, 0);
          for (const [position, { seq, index }] of all.entries())
            expect(await eventsAfter(session, `${seq}.${index}`), `after ${seq}.${index}`).toEqual(
              all.slice(position + 1),
            );
        }
      }));

    test("what follows an entry is exactly the rest, and nothing follows the last one", () =>
      inStore(async (store) => {
        for (const { sessionId, rows } of recording.sessions) {
          const session = sessionOf(store, sessionId);
          const all = await eventsAfter(session, 0);
          const last = rows.reduce((count, { events }) => count + events.length, 0);
          for (let seq = 0; seq <= last; seq += 1)
            expect(await eventsAfter(session, seq), `after ${seq}`).toEqual(all.filter((event) => event.seq > seq));
          expect(await eventsAfter(session, last + 10)).toEqual([]);
        }
      }));

    test("a follower that begins at a place gives the rest, too", () =>
      inStore(async (store) => {
        for (const { sessionId } of recording.sessions) {
          const session = sessionOf(store, sessionId);
          const all = await eventsAfter(session, 0);
          for (const at of [0, Math.floor(all.length / 2), all.length - 2]) {
            const from = all[at];
            const rest = all.slice(at + 1);
            if (from === undefined || rest.length === 0) continue;
            const leave = new AbortController();
            const seen: unknown[] = [];
            for await (const item of session.events({ after: `${from.seq}.${from.index}`, signal: leave.signal })) {
              seen.push(item);
              if (seen.length === rest.length) leave.abort();
            }
            expect(seen).toEqual(rest);
          }
        }
      }));
  });
});

test.each(["57.", ".2", "a", "1.2.3", "-1", "1e3", "", "9".repeat(40), -1, 1.5, Number.NaN])(
  "%j is no place",
  verifies("STRM-9"),
  async (after) => {
    const session = createAgent({ model: createScriptedModel([]) }).session("s");
    await expect(eventsAfter(session, after)).rejects.toMatchObject({ code: "bad_input" });
  },
);
