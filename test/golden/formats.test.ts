/**
 * Sessions of other versions: a row names its format, a migration is an entry, and what a later version wrote is left to it.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type EventOf,
  formatVersion,
  initialFormat,
  initialState,
  type State,
  transition,
} from "../../src/core/index.js";
import { createAgent, createMemoryStore, createWorker, type Store, type WorkerReport } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { loadInto, type RecordedRow, type Recording } from "./recording.js";

const proven = verifies("STOR-5");
const recorded: Recording = JSON.parse(readFileSync(new URL("released/0.1.0/backoff.json", import.meta.url), "utf8"));
const { rows = [], blobs = [] } = recorded.sessions[0] ?? {};
const agentOver = (store: Store) =>
  createAgent({ name: "recorded", model: createScriptedModel([{ text: "Hello." }]), store });

/** The recorded session under another id, its rows changed. */
const changed = (sessionId: string, change: (row: RecordedRow) => RecordedRow): Recording => ({
  about: recorded.about,
  sessions: [{ sessionId, rows: rows.map(change), inbox: [], blobs }],
});

/** As a later version might have left it: it knows more. */
const later = (row: RecordedRow): RecordedRow => ({
  ...row,
  state: { ...row.state, v: formatVersion + 1 } as unknown as State,
});

describe.each(localStores)("in $name", ({ open }) => {
  test("a session of a later format is not taken, by nobody's agent, and can be posted to", proven, async () => {
    await withStore(open, async (store) => {
      await loadInto(store, changed("later", later));
      const session = agentOver(store).session("later");
      const code = { code: "newer_format" };
      await expect(session.resume()).rejects.toMatchObject(code);
      await expect(session.state()).rejects.toMatchObject(code);
      await expect(session.replay()).rejects.toMatchObject(code);
      await expect(session.send("Hello?")).rejects.toMatchObject(code);
      const message = { id: "m", at: 1, body: { type: "abort" } } as const;
      expect(await store.post("later", message)).toEqual({ type: "posted" });
      expect(await store.inbox("later")).toEqual([message]);
    });
  });

  test("a worker leaves it, and carries on the others", proven, async () => {
    await withStore(open, async (store) => {
      await loadInto(store, changed("later", later));
      await loadInto(
        store,
        changed("present", (row) => row),
      );
      const reports: WorkerReport[] = [];
      await createWorker({
        store,
        agents: [agentOver(store)],
        onReport: (report) => reports.push(report),
      }).runUntilIdle();
      expect(reports).toContainEqual(
        expect.objectContaining({
          type: "refused",
          sessionId: "later",
          error: expect.objectContaining({ code: "newer_format" }),
        }),
      );
      expect(reports).toContainEqual(expect.objectContaining({ type: "left", sessionId: "present" }));
      expect(await store.load("present")).toMatchObject({ state: { status: "completed" } });
    });
  });

  test("a migrated session folds from its migration on, and is carried on", proven, async () => {
    await withStore(open, async (store) => {
      const last = rows.at(-1);
      if (last === undefined) throw new Error("nothing was recorded");
      const { at, state } = last;
      const migrated: EventOf<"migrated"> = { type: "migrated", from: formatVersion - 1, state, at };
      const after: State = { ...state, seq: state.seq + 1 };
      const session = {
        sessionId: "old",
        rows: [...rows, { ...last, taken: [], events: [migrated], state: after }],
        inbox: [],
        blobs,
      };
      await loadInto(store, { about: recorded.about, sessions: [session] });
      // What came before need not fold any more.
      const [entry] = await store.read("old", state.seq);
      expect(entry && transition({ ...initialState, seq: state.seq }, entry.event)).toEqual(after);
      expect(await agentOver(store).session("old").resume()).toMatchObject({ status: "completed", text: "Hello." });
    });
  });
});

test("who cannot carry a session on gives its lease back at once", proven, async () => {
  const store = createMemoryStore();
  await loadInto(store, changed("later", later));
  await expect(agentOver(store).run("Hello?", { sessionId: "later" })).rejects.toMatchObject({ code: "newer_format" });
  expect(await store.list()).toMatchObject([{ sessionId: "later", holder: null }]);
});

test("each row names its format, and so does a session's first entry", proven, () => {
  for (const { state, events } of rows) {
    expect(state.v).toBe(initialFormat);
    for (const event of events) if (event.type === "session_created") expect(event.v).toBe(initialFormat);
  }
});
