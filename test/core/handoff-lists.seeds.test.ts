/** What the filter of a handoff leaves of a conversation, folded from the start and from the last compaction. */
import { expect, test } from "vitest";
import {
  appendEntry,
  compactionRange,
  createTranscript,
  type MessageRef,
  type Transcript,
} from "../../src/core/index.js";
import { loadTranscript } from "../../src/runtime/log/read-log.js";
import { pickSampleCount } from "../support/sample-count.js";
import { verifies } from "../verifies.js";
import { createChance } from "./chance.js";
import { createEventSource } from "./random-events.js";
import {
  allowCall,
  appendEvent,
  compactConversation,
  createSession,
  createStartedSession,
  endRun,
  failModelCall,
  finishCall,
  prepareStep,
  runStep,
  type Session,
  startRun,
  steerRun,
  userMessage,
} from "./session.js";

/** The parts of a transcript that a filter changes. */
const partsOf = ({
  messages,
  seqs,
  origins,
  ids,
  compaction,
  appended,
  later,
  sources,
  sourceNotes,
  run,
}: Transcript) => ({
  ...{ messages, seqs, origins, ids, compaction, appended, later, sources, sourceNotes },
  lastPrompt: run?.lastPrompt,
});

test(
  "who reads the log from the last compaction on sees what whoever read all of it sees",
  verifies("AGENT-1"),
  async () => {
    let compared = 0;
    for (let seed = 1; seed <= pickSampleCount({ quick: 40, long: 400 }); seed += 1) {
      const chance = createChance(seed);
      const source = createEventSource(chance);
      const session = createSession();
      for (let count = 0; count < 200; count += 1) {
        session.at += chance.below(200);
        appendEvent(session, chance.oneIn(50) ? source.any(session) : source.plausible(session));
        if (count % 5 !== 0 || session.state.context.readFrom <= 1) continue;
        if (!session.log.some(({ event }) => event.type === "handed_off" && event.messages !== undefined)) continue;
        compared += 1;
        expect(partsOf(await reread(session)), `seed ${seed}, event ${count}`).toEqual(partsOf(session.transcript));
      }
    }
    expect(compared).toBeGreaterThan(pickSampleCount({ quick: 200, long: 2_000 }));
  },
);

async function reread({ log, state, blobs }: Session): Promise<Transcript> {
  const read = async (_: string, after = 0, most = log.length) => log.slice(after, after + most);
  const getBlob = async (_: string, hash: string) => blobs.get(hash) ?? null;
  return loadTranscript({ read, getBlob }, "s", state);
}

/** A session whose second step hands over, with a list that is chosen from the conversation at that time. */
function handedOver(listOf: (session: Session) => readonly MessageRef[]): Session {
  const session = createStartedSession();
  runStep(session, { calls: ["look"] });
  steerRun(session, "and quickly");
  allowCall(session, 1);
  finishCall(session, 1);
  runStep(session, { calls: ["transfer_to_b"] });
  allowCall(session, 1, { recover: "rerun", handoff: "b" });
  handOver(session, listOf);
  return session;
}

function handOver(session: Session, listOf: (session: Session) => readonly MessageRef[]): void {
  const { state } = session;
  if (state.status !== "preparing" || state.for !== "handoff" || state.handoff === undefined)
    throw new Error(state.status);
  appendEvent(session, {
    type: "handed_off",
    runId: state.runId,
    from: "a",
    ...state.handoff,
    messages: listOf(session),
  });
}

const placesOf = ({ transcript: { messages, seqs } }: Session) =>
  messages.map(({ role }, index) => [role, seqs[index]] as const);

test("an added message belongs to the entry of the next one that was there before", verifies("AGENT-1"), () => {
  const before = handedOver(({ transcript: { seqs } }) => seqs.map((seq) => [seq, 0, 1]));
  const note = { message: userMessage("in front") };
  const after = handedOver(({ transcript: { seqs } }) => [note, [seqs[3] ?? 0, 0, 1], [seqs[4] ?? 0, 0, 1], note]);
  const [, , , , asked, given] = placesOf(before);
  const last = after.log.at(-1)?.seq;
  expect(placesOf(after)[0]).toEqual(["user", placesOf(after)[1]?.[1]]);
  expect(placesOf(after).at(-1)).toEqual(["user", last]);
  expect([asked?.[0], given?.[0]]).toEqual(["assistant", "tool"]);
});

test("a reference to messages that are gone gives nothing, and a blob none either", verifies("AGENT-1"), () => {
  const { transcript } = handedOver(() => [[1, 0, 3], [2, 7, 1], { blob: "0".repeat(64) }, [99, 0, 1]]);
  expect(transcript.messages).toEqual([]);
});

test(
  "input that is shown after results needs the entry of their calls, which is read too",
  verifies("AGENT-1"),
  async () => {
    const session = createStartedSession();
    runStep(session, { calls: ["finish"] });
    steerRun(session, "and quickly");
    allowCall(session, 1);
    finishCall(session, 1, { done: {} });
    endRun(session);
    startRun(session, "r2");
    runStep(session, { calls: ["transfer_to_b"] });
    allowCall(session, 1, { recover: "rerun", handoff: "b" });
    handOver(session, ({ transcript: { seqs } }) => [
      [seqs[2] ?? 0, 1, 1],
      ...seqs.slice(-2).map((seq): MessageRef => [seq, 0, 1]),
    ]);
    expect(placesOf(session).map(([role]) => role)).toEqual(["user", "assistant", "tool"]);
    prepareStep(session);
    failModelCall(session, { type: "compact" });
    compactConversation(session, compactionRange(session.transcript, session.transcript.seqs[0] ?? 0));
    const { context } = session.state;
    expect(context.readFrom).toBe(session.log.find(({ event }) => event.type === "model_finished")?.seq);
    expect(placesOf(session).map(([role]) => role)).toEqual(["user", "user", "assistant", "tool"]);
    expect(partsOf(await reread(session))).toEqual(partsOf(session.transcript));
  },
);

test("a prompt that the list leaves out is not known any more", verifies("AGENT-1"), async () => {
  const session = createStartedSession();
  runStep(session, { text: "half of", finish: "length" });
  runStep(session, { text: " it", calls: ["look"] });
  expect(session.transcript.run?.lastPrompt).not.toBeNull();
  allowCall(session, 1);
  finishCall(session, 1);
  runStep(session, { calls: ["transfer_to_b"] });
  allowCall(session, 1, { recover: "rerun", handoff: "b" });
  handOver(session, ({ transcript: { seqs } }) => seqs.slice(-2).map((seq): MessageRef => [seq, 0, 1]));
  expect(placesOf(session).map(([role]) => role)).toEqual(["assistant", "tool"]);
  prepareStep(session);
  failModelCall(session, { type: "compact" });
  compactConversation(session, compactionRange(session.transcript, session.transcript.seqs[0] ?? 0));
  expect(placesOf(session).map(([role]) => role)).toEqual(["user", "assistant", "tool"]);
  expect(partsOf(await reread(session))).toEqual(partsOf(session.transcript));
});

test("the list is a copy of nothing: messages of the conversation stay the same objects", verifies("AGENT-1"), () => {
  let before: readonly object[] = [];
  const { transcript } = handedOver(({ transcript: { messages, seqs } }) => {
    before = [...messages];
    return seqs.slice(0, 3).map((seq): MessageRef => [seq, 0, 1]);
  });
  expect(transcript.messages.every((message, index) => message === before[index])).toBe(true);
  const rebuilt = createTranscript();
  expect(() =>
    appendEntry(rebuilt, {
      seq: 1,
      event: { type: "handed_off", runId: "r", callKey: "c", from: "a", to: "b", messages: [[1, 0, 9]], at: 1 },
    }),
  ).not.toThrow();
  expect(rebuilt.messages).toEqual([]);
});
