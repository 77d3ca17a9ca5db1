import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Answer,
  advance,
  appendEntry,
  createTranscript,
  effects,
  eventsOf,
  hasCalls,
  type InboxBody,
  type InboxMessage,
  initialState,
  type State,
  transition,
} from "../../src/core/index.js";
import { copyTranscript } from "../../src/core/transcript/copy-transcript.js";
import { loadTranscript } from "../../src/runtime/log/read-log.js";
import { verifies } from "../verifies.js";
import { randomSessions } from "./random-sessions.js";
import { type Session, testLimits, userMessage } from "./session.js";

/** What a holder fills in; these messages say it themselves. */
const defaults = { limits: testLimits, model: "m" };

const sessions = randomSessions(120).map(({ session }) => session);

test("the log folds to the state, from its start and from anywhere in it", verifies("LOOP-3"), () => {
  fc.assert(
    fc.property(sessions, fc.nat(), ({ log, state }, at) => {
      const fold = (from: State, entries: typeof log) =>
        entries.reduce((folded, { event }) => transition(folded, event), from);
      expect(fold(initialState, log)).toEqual(state);
      const cut = log.length === 0 ? 0 : at % log.length;
      const stored: State = JSON.parse(JSON.stringify(fold(initialState, log.slice(0, cut))));
      const rest: typeof log = JSON.parse(JSON.stringify(log.slice(cut)));
      expect(fold(stored, rest)).toEqual(state);
      expect(effects(fold(stored, rest))).toEqual(effects(state));
      expect(log.map((entry) => entry.seq)).toEqual(log.map((_, index) => index + 1));
    }),
  );
});

test("the log builds the transcript, whether it comes from memory or from a store", () => {
  fc.assert(
    fc.property(sessions, ({ log, transcript }) => {
      const rebuilt = createTranscript();
      for (const entry of log) appendEntry(rebuilt, JSON.parse(JSON.stringify(entry)));
      expect(rebuilt).toEqual(transcript);
    }),
  );
});

test("a copy of a transcript grows as the transcript does, and neither changes the other", () => {
  fc.assert(
    fc.property(sessions, fc.nat(), ({ log, transcript }, at) => {
      const cut = at % (log.length + 1);
      const first = createTranscript();
      for (const entry of log.slice(0, cut)) appendEntry(first, entry);
      const before = structuredClone(first);
      const copy = copyTranscript(first);
      expect(copy).toEqual(first);
      for (const entry of log.slice(cut)) appendEntry(copy, entry);
      expect(copy).toEqual(transcript);
      expect(first).toEqual(before);
      for (const entry of log.slice(cut)) appendEntry(first, entry);
      expect(first).toEqual(copy);
    }),
  );
});

test("who reads the log from where the last compaction says sees the same", verifies("CTX-5"), async () => {
  await fc.assert(
    fc.asyncProperty(sessions, async ({ log, state, transcript, blobs }) => {
      const read = async (_: string, after = 0, most = log.length) => log.slice(after, after + most);
      const getBlob = async (_: string, hash: string) => blobs.get(hash) ?? null;
      expect(await loadTranscript({ read, getBlob }, "s", state)).toEqual(transcript);
    }),
  );
});

test("the session's data is the same, from whatever row its reading starts", verifies("TOOL-17"), async () => {
  let found = 0;
  await fc.assert(
    fc.asyncProperty(sessions, async ({ log, blobs }) => {
      const read = async (_: string, after = 0, most = log.length) => log.slice(after, after + most);
      const whole = createTranscript();
      let state = initialState as State;
      for (const entry of log) {
        state = transition(state, entry.event);
        appendEntry(whole, entry);
        const { dataBlob } = state.context;
        if (dataBlob === undefined) continue;
        found += 1;
        const getBlob = async (_: string, hash: string) => blobs.get(hash) ?? null;
        expect((await loadTranscript({ read, getBlob }, "s", state)).data).toEqual(whole.data);
        // The blob is lost: the beginning of the log says the same.
        const none = async () => null;
        expect((await loadTranscript({ read, getBlob: none }, "s", state)).data).toEqual(whole.data);
      }
    }),
    { numRuns: 30 },
  );
  expect(found).toBeGreaterThan(20);
});

const answers: fc.Arbitrary<Answer> = fc.constantFrom<Answer[]>(
  { type: "approve" },
  { type: "deny", note: "no" },
  { type: "modify", input: 1, inputHash: "h" },
  { type: "rerun" },
  { type: "result", output: { type: "text", text: "x" } },
  { type: "fail" },
);

/** Messages about the calls and runs of a session, and about others. */
function messagesFor({ state, log }: Session): fc.Arbitrary<InboxMessage> {
  const keys = [
    "r0/1/1",
    ...(hasCalls(state) ? state.calls.map((call) => call.callKey) : []),
    ...state.interrupted,
    ...log.flatMap(({ event }) => (event.type === "tool_finished" ? [event.callKey] : [])).slice(-3),
  ];
  const runIds = ["new", "r1", ...log.flatMap(({ event }) => ("runId" in event ? [event.runId] : [])).slice(-2)];
  const callKey = fc.constantFrom(...keys);
  const runId = fc.constantFrom(...runIds);
  const input = { input: [userMessage("x")], limits: testLimits, session: { agent: "a", model: "m" } };
  const body = fc.oneof<fc.Arbitrary<InboxBody>[]>(
    fc
      .record({ mode: fc.constantFrom("queue", "steer"), runId })
      .map((given) => ({ type: "input", ...input, ...given })),
    fc.record({ callKey, answer: answers }).map((given) => ({ type: "answer", ...given })),
    callKey.map((key) => ({ type: "result", callKey: key, output: { type: "text", text: "x" } })),
    fc.constant({ type: "abort" }),
    runId.map((named) => ({ type: "abort", runId: named })),
  );
  return body.map((one) => ({ id: "m", at: 1, body: one }));
}

test("what anybody says means events that all apply, or none; said again at once, only a steer means anything", () => {
  const said = sessions.chain((session) => messagesFor(session).map((message) => ({ session, message })));
  fc.assert(
    fc.property(said, ({ session, message }) => {
      let { state } = session;
      for (const event of eventsOf(message, state, defaults)) {
        const after = advance(state, { ...event, at: session.at });
        expect(after.state).not.toBe(state);
        state = after.state;
      }
      const { body } = message;
      if (body.type !== "input" || body.mode === "queue") expect(eventsOf(message, state, defaults)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
