/**
 * Cases for what reads exports and rows of databases: both may have been written by a stranger.
 *
 * Each text stands at every place where a writer may put one. The checksums are right, so that the readers get as far as they do with a
 * row that was written with care.
 */

import { createMemoryStore } from "../../src/index.js";
import * as checksum from "../../src/stores/shared/checksum.js";
import * as validate from "../../src/stores/shared/decode.js";
import * as rows from "../../src/stores/shared/rows.js";
import * as verifyRows from "../../src/stores/shared/verify-rows.js";
import * as importing from "../../src/stores/transfer/import.js";
import * as lines from "../../src/stores/transfer/lines.js";
import * as readLines from "../../src/stores/transfer/read-lines.js";
import type { Cases } from "./cases.js";

const position = { file: "file", sessionId: "s", seq: 1 };
const toTextParts = (text: string) => [{ type: "text", text }];
const toLetters = (text: string) => text.slice(0, 20_000).split("");

/** An event, a state, a message and a holder that hold the text. */
const createEvents = (text: string): readonly object[] => [
  { type: "steered", at: 1, input: toTextParts(text), source: text },
  { type: "data_changed", at: 1, patch: { [text]: toLetters(text) } },
  { type: "prepared", at: 1, runId: text, modelCallIndex: 1, contextSeq: 1, purpose: text, messages: toLetters(text) },
  { type: text, at: 1 },
];
const createState = (text: string): object => ({
  v: 2,
  seq: 1,
  status: "idle",
  session: { agent: text, model: text },
  queue: toLetters(text),
  interrupted: [],
  context: { [text]: text },
});
const createMessage = (text: string): object => ({ id: text, at: 1, body: { type: "abort", note: text } });

const computeSum = (text: string) =>
  checksum.checksumOf(text, checksum.checksumPrefixOf(position.sessionId, position.seq));
const commitRow = (events: string, state: string) => ({
  seq: 1,
  v: 2,
  status: "idle",
  at: 1,
  events,
  eventsSum: computeSum(events),
  state,
  stateSum: computeSum(state),
});

/**
 * Reads one value after the other, each in a turn of its own, and made in the turn before: what the test does to make a
 * value is not counted as the reader's work.
 */
async function readEach<Value>(values: Iterable<Value>, read: (value: Value) => unknown): Promise<void> {
  for (const value of values) {
    await nextTurn();
    try {
      await read(value);
    } catch {
      // A refusal is a good answer. The other values follow.
    }
    await nextTurn();
  }
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** The text itself, and as JSON at its places. */
function* createLogs(text: string): Generator<string> {
  yield text;
  for (const event of createEvents(text)) yield JSON.stringify([event]);
}
function* createStates(text: string): Generator<string> {
  yield text;
  yield JSON.stringify(createState(text));
}

const createOverview = (text: string) =>
  JSON.stringify({ lastRun: { runId: text, steps: 1, usage: {} }, questions: 0 });

function createSummaryRow(text: string): rows.SummaryRow {
  const info = JSON.stringify({ agent: text, model: text });
  return {
    name: "s",
    createdAt: 1,
    updatedAt: 1,
    activity: "resting",
    status: "idle",
    seq: 1,
    v: 2,
    inbox: 0,
    holder: null,
    info,
    infoSum: checksum.checksumOf(info),
  };
}

/** Lines come from a file: each in a turn of its own. */
async function* streamLines(list: readonly string[]): AsyncGenerator<string> {
  for (const line of list) {
    await nextTurn();
    yield line;
  }
}

const headerLine = JSON.stringify({ type: "pawl_sessions", version: 1, format: 2 });
const sessionLine = (sessionId: string, entries: number) =>
  JSON.stringify({ type: "session", sessionId, createdAt: 1, updatedAt: 1, entries });

/** Exports that hold the text: as a line, and at each place of each kind of line. */
function* createExports(text: string): Generator<readonly string[]> {
  yield [text];
  yield [headerLine, text];
  yield [headerLine, sessionLine(text, 1)];
  for (const event of createEvents(text)) yield [headerLine, sessionLine("s", 1), JSON.stringify({ seq: 1, event })];
  yield [headerLine, sessionLine("s", 1), JSON.stringify({ type: "state", state: createState(text) })];
  yield [headerLine, sessionLine("s", 0), JSON.stringify({ type: "message", message: createMessage(text) })];
  yield [headerLine, sessionLine("s", 0), JSON.stringify({ type: "taken", ids: toLetters(text).slice(0, 500) })];
  yield [
    headerLine,
    sessionLine("s", 0),
    JSON.stringify({ type: "blob", hash: text, bytes: text.length, base64: text }),
  ];
  yield [headerLine, sessionLine("s", 0), JSON.stringify({ type: "end", sessions: 1, sum: text })];
  yield [headerLine, JSON.stringify({ type: text })];
}

async function readAll(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

export const storedModules = {
  exportLines: [
    lines,
    {
      formatLine: (text) => lines.formatLine({ type: "blob", hash: text, bytes: 1, base64: text }),
      chainSum: (text) => lines.chainSum(text, text),
      splitLines: (text) => readAll(lines.splitLines(streamLines([text, text]))),
    } satisfies Cases<typeof lines>,
  ],
  exports: [
    readLines,
    {
      readItems: (text) => readEach(createExports(text), (list) => readAll(readLines.readItems(streamLines(list)))),
    } satisfies Cases<typeof readLines>,
  ],
  imports: [
    importing,
    {
      importSessions: (text) =>
        readEach(createExports(text), (list) =>
          importing.importSessions(createMemoryStore(), { read: () => streamLines(list.map((line) => `${line}\n`)) }),
        ),
    } satisfies Cases<typeof importing>,
  ],
  storedTexts: [
    validate,
    {
      isStatus: validate.isStatus,
      checkFormat: "of a number",
      verifyChecksum: (text) => validate.verifyChecksum(text, checksum.checksumOf(text), position),
      verifyCommitChecksum: (text) => validate.verifyCommitChecksum(text, computeSum(text), position),
      decodeEntries: (text) => readEach(createLogs(text), (log) => validate.decodeEntries(log, position)),
      decodeState: (text) => readEach(createStates(text), (state) => validate.decodeState(state, position)),
      decodeInfo: (text) =>
        readEach([text, JSON.stringify({ agent: text, model: text })], (info) => validate.decodeInfo(info, position)),
      decodeMessage: (text) =>
        readEach([text, JSON.stringify(createMessage(text))], (message) => validate.decodeMessage(message, position)),
      decodeHolder: (text) =>
        readEach([text, JSON.stringify({ id: text, host: text, pid: 1, startedAt: 1 })], (holder) =>
          validate.decodeHolder(holder, position),
        ),
      decodeOverview: (text) =>
        readEach([text, createOverview(text)], (overview) => validate.decodeOverview(overview, position)),
      corruptError: "of messages that Pawl makes",
    } satisfies Cases<typeof validate>,
  ],
  rows: [
    rows,
    {
      toStateAt: (text) => readEach(createStates(text), (state) => rows.toStateAt(commitRow("", state), "file", "s")),
      appendEntries: (text) =>
        readEach(createLogs(text), (events) =>
          rows.appendEntries([], commitRow(events, ""), { after: 0, last: 0 }, position),
        ),
      toSummary: async (text) => {
        const whole = createSummaryRow(text);
        await readEach([text], (status) => rows.toSummary({ ...whole, status }, "file"));
        await readEach([text], (activity) => rows.toSummary({ ...whole, activity }, "file"));
        await readEach([text], (holder) => rows.toSummary({ ...whole, holder }, "file"));
        rows.toSummary(whole, "file");
      },
      toOverviewSummary: async (text) => {
        const row = { ...createSummaryRow("a"), overviewSum: computeSum(text), hasChildren: false };
        await readEach([text], (overview) =>
          rows.toOverviewSummary({ ...row, overview, state: null, stateSum: null }, "file"),
        );
        await readEach(createStates(text), (state) =>
          rows.toOverviewSummary({ ...row, overview: null, state, stateSum: computeSum(state) }, "file"),
        );
      },
      parseActivity: (text) => rows.parseActivity(text, position),
      toAskingSession: (text) =>
        readEach(createStates(text), (state) =>
          rows.toAskingSession({ ...commitRow("", state), name: "s", askedAt: 1, inbox: 0 }, "file"),
        ),
    } satisfies Cases<typeof rows>,
  ],
  verifiedRows: [
    verifyRows,
    {
      checkCommitRow: (text) =>
        readEach(createLogs(text), (events) =>
          verifyRows.checkCommitRow(commitRow(events, JSON.stringify(createState(""))), 0, position),
        ),
      missingBlobError: "of a hash that was checked",
      checkOwnRow: "of rows that were decoded, field by field",
    } satisfies Cases<typeof verifyRows>,
  ],
} as const;
