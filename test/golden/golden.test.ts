/**
 * Golden logs: sessions that each release recorded, and those that the present code records. They load, fold and are carried on.
 *
 * What a release wrote stays as it is for ever. `npm run golden` writes `format.txt`, the members that the present code writes
 * (PAWL_GOLDEN=format), and `npm run golden -- --release` keeps the present recordings as those of a release (PAWL_GOLDEN=<its version>).
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  type EventType,
  formatVersion,
  initialFormat,
  initialState,
  oldestFormat,
  type State,
  transition,
  transitionTable,
} from "../../src/core/index.js";
import { finalSummaryPrompt } from "../../src/core/transcript/loop-prompts.js";
import { createMemoryStore, type ModelRequest, type Store } from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { reservedEvents } from "../core/reserved-events.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { createBench } from "./bench.js";
import { carryOn } from "./play.js";
import { type Golden, presentRecordings } from "./present.js";
import { eventTypesOf, formatOf, lastState, loadInto, type Recording } from "./recording.js";
import { scenarios } from "./sessions.js";

const readableFormats = Array.from({ length: formatVersion - oldestFormat + 1 }, (_, index) => oldestFormat + index);
const written = Array.from({ length: formatVersion - initialFormat + 1 }, (_, index) => initialFormat + index);
const folder = fileURLToPath(new URL(".", import.meta.url));
const formatFile = join(folder, "format.txt");
const proven = verifies("STOR-5");

const recordingsOf = (golden: readonly Golden[]) => golden.map(({ recording }) => recording);

const toWrite = process.env.PAWL_GOLDEN;
if (toWrite === "format") writeFileSync(formatFile, `${formatOf(recordingsOf(presentRecordings)).join("\n")}\n`);
else if (toWrite !== undefined) {
  const files = join(folder, "released", toWrite);
  mkdirSync(files, { recursive: true });
  for (const { name, recording } of presentRecordings)
    writeFileSync(join(files, `${name}.json`), `${JSON.stringify(recording)}\n`);
}

const released = readdirSync(join(folder, "released")).map((release) => ({
  release,
  golden: readdirSync(join(folder, "released", release)).map(
    (file): Golden => ({
      version: release,
      name: file.replace(".json", ""),
      recording: JSON.parse(readFileSync(join(folder, "released", release, file), "utf8")) as Recording,
    }),
  ),
}));
const bytesOf = ({ recording }: Golden) => JSON.stringify(recording);
const known = new Set(presentRecordings.map(bytesOf));
const golden: readonly Golden[] = [
  ...presentRecordings,
  // Those that the present code records in just the same way are played once.
  ...released.flatMap((one) => one.golden).filter((one) => !known.has(bytesOf(one))),
];

describe("the durable format", proven, () => {
  test("is that of format.txt: `npm run golden` writes what was added to it", () => {
    const kept = readFileSync(formatFile, "utf8").trimEnd().split("\n");
    expect(formatOf(recordingsOf(presentRecordings))).toEqual(kept);
  });

  test("keeps what each release wrote: whoever takes something away raises `formatVersion`", () => {
    expect(released.length).toBeGreaterThan(0);
    const present = new Set(formatOf(recordingsOf(presentRecordings)));
    for (const one of released) {
      const formats = one.golden.flatMap(({ recording }) => recording.sessions.map((session) => lastState(session).v));
      if (!formats.some((format) => written.includes(format))) continue;
      const wrote = formatOf(recordingsOf(one.golden));
      expect(
        wrote.filter((member) => !present.has(member)),
        one.release,
      ).toEqual([]);
    }
  });

  test("has golden logs of every version, with events of every type that is written", () => {
    expect([...new Set(golden.map(({ version }) => version))]).toEqual(
      expect.arrayContaining(readableFormats.map((version) => `v${version}`)),
    );
    expect(presentRecordings.map(({ name }) => name).sort()).toEqual(scenarios.map(({ name }) => name).sort());
    const missing = new Set(Object.keys(transitionTable.idle) as EventType[]);
    for (const type of eventTypesOf(recordingsOf(presentRecordings))) missing.delete(type);
    expect([...missing].sort()).toEqual(notRecorded);
  });
});

test("requests of a log of 0.1 are made again as 0.1 sent them: its last summaries had no tools", async () => {
  const limits = released.flatMap((one) => one.golden).find((one) => one.version === "0.1.0" && one.name === "limits");
  if (limits === undefined) throw new Error("The log of 0.1.0 is missing.");
  const store = createMemoryStore();
  await loadInto(store, limits.recording);
  const summaries: ModelRequest[] = [];
  for (const { sessionId } of limits.recording.sessions)
    for await (const request of modelRequests(store, sessionId))
      if (JSON.stringify(request.messages.at(-1)).includes(finalSummaryPrompt)) summaries.push(request);
  expect(summaries.length).toBeGreaterThan(0);
  for (const request of summaries) {
    expect(request).toMatchObject({ tools: [], toolChoice: "none" });
    expect(request.messages.at(-1)).toMatchObject({ parts: [{ text: finalSummaryPrompt }] });
  }
});

/** There is no older format to come from, and nothing writes what is reserved. */
const notRecorded = ["migrated", ...reservedEvents.map(({ type }) => type)].sort();

describe.each(localStores)("in $name", ({ open }) => {
  describe.each(golden)("$version $name", proven, ({ name, recording }) => {
    const scenario = scenarios.find((one) => one.name === name);
    const inStore = (work: (store: Store) => Promise<void>) =>
      withStore(open, async (store) => {
        await loadInto(store, recording);
        await work(store);
      });

    test("loads, and folds to the states of its rows", () =>
      inStore(async (store) => {
        for (const session of recording.sessions) {
          const { sessionId, rows, inbox } = session;
          let state: State = initialState;
          let folded = 0;
          const log = await store.read(sessionId);
          for (const row of rows) {
            for (const { event } of log.slice(folded, folded + row.events.length)) state = transition(state, event);
            folded += row.events.length;
            expect(JSON.parse(JSON.stringify(state)), `${sessionId} after entry ${folded}`).toEqual(row.state);
          }
          expect(log).toHaveLength(folded);
          expect(await store.load(sessionId)).toEqual({ seq: folded, state: lastState(session) });
          expect(await store.inbox(sessionId)).toEqual(inbox);
        }
        expect(await store.verify()).toEqual([]);
      }));

    test("is carried on to its end, and takes another run", () =>
      inStore(async (store) => {
        if (scenario === undefined) throw new Error(`There is no agent for ${name}.`);
        const states = await carryOn(store, scenario, recording.sessions);
        for (const { sessionId, ...session } of recording.sessions) {
          const state = states.get(sessionId);
          expect(state === undefined ? "none" : state.status, sessionId).toMatch(/completed|failed|aborted/);
          if (lastState({ sessionId, ...session }).session?.parent === undefined)
            expect(state, sessionId).toMatchObject({ runId: "now" });
        }
        expect(await store.verify()).toEqual([]);
      }));

    test("replays without a difference", () =>
      inStore(async (store) => {
        if (scenario === undefined) throw new Error(`There is no agent for ${name}.`);
        const bench = createBench(store, 0);
        const { agent } = bench.start(scenario.parts(bench));
        for (const session of recording.sessions) {
          if (lastState(session).session?.parent !== undefined) continue;
          const replay = await agent.session(session.sessionId).replay();
          expect(replay.difference, session.sessionId).toBeNull();
        }
      }));
  });
});
