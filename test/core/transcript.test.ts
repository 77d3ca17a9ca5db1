import { describe, expect, test } from "vitest";
import {
  type AssistantPart,
  appendEntry,
  createTranscript,
  type Message,
  summaryMessage,
  textOf,
} from "../../src/core/index.js";
import { compactionRange } from "../../src/core/transcript/compaction.js";
import { continuePrompt, doneToolReminder } from "../../src/core/transcript/loop-prompts.js";
import { loadTranscript } from "../../src/runtime/log/read-log.js";
import { verifies } from "../verifies.js";
import {
  allowCall,
  answerCall,
  askAboutCall,
  compactConversation,
  createStartedSession,
  endRun,
  failModelCall,
  finishCall,
  finishModelCall,
  prepareStep,
  queueRun,
  requireRun,
  restartRun,
  runStep,
  type Session,
  startRun,
  steerRun,
} from "./session.js";

function call(toolCallId: string, more: object = {}): AssistantPart {
  return { type: "tool_call", toolCallId, name: "look", input: {}, ...more };
}

/** The conversation, a line for each message. */
function shown({ transcript }: Session): readonly string[] {
  return transcript.messages.map((message) => {
    const ids = message.parts.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []));
    return [message.role, textOf(message), ...ids].filter((part) => part !== "").join(" ");
  });
}

function finishAll(session: Session, count: number): void {
  for (let position = 1; position <= count; position += 1) allowCall(session, position);
  for (let position = count; position >= 1; position -= 1) finishCall(session, position);
}

/** What the model is shown of a summary. */
function standing(summary: string): string {
  return textOf(summaryMessage(summary));
}

describe("ids of calls", () => {
  test("that repeat within a message, between messages and runs are made unique", verifies("TOOL-5#ids"), () => {
    const session = createStartedSession();
    runStep(session, { parts: [call("a"), call("a"), call("b")] });
    finishAll(session, 3);
    runStep(session, { parts: [call("a"), call("a_2")] });
    finishAll(session, 2);
    runStep(session, { text: "done" });
    endRun(session);
    startRun(session, "r2");
    runStep(session, { parts: [call("b")] });
    finishAll(session, 1);
    expect(shown(session)).toEqual([
      "user do r1",
      "assistant a a_2 b",
      "tool a a_2 b",
      "assistant a_4 a_2_5",
      "tool a_4 a_2_5",
      "assistant done",
      "user do r2",
      "assistant b_6",
      "tool b_6",
    ]);
  });

  test("that are empty get one", verifies("TOOL-5#ids"), () => {
    const session = createStartedSession();
    runStep(session, { parts: [call(""), call("")] });
    finishAll(session, 2);
    expect(shown(session).slice(1)).toEqual(["assistant call_1 call_2", "tool call_1 call_2"]);
  });

  test("of calls that the provider ran itself keep their results", verifies("TOOL-5#ids"), () => {
    const session = createStartedSession();
    const own = { providerExecuted: true };
    const result = (text: string): AssistantPart => ({
      type: "tool_result",
      toolCallId: "w",
      name: "web",
      output: { type: "text", text },
      ...own,
    });
    runStep(session, { parts: [call("w", own), call("w", own), result("first"), result("second")] });
    const message = session.transcript.messages[1];
    expect(message?.parts).toMatchObject([
      { type: "tool_call", toolCallId: "w" },
      { type: "tool_call", toolCallId: "w_2" },
      { type: "tool_result", toolCallId: "w", output: { text: "first" } },
      { type: "tool_result", toolCallId: "w_2", output: { text: "second" } },
    ]);
  });
});

describe("a message", () => {
  test("of the model is sent back as it was received", verifies("CTX-10"), () => {
    const session = createStartedSession();
    const parts: readonly AssistantPart[] = [
      { type: "reasoning", text: "hm", providerMetadata: { p: { signature: "abc" } } },
      { type: "text", text: "Look:", providerMetadata: { p: { cache: true } } },
      call("a", { providerMetadata: { p: { thought: "xyz" } } }),
      { type: "source", id: "s", url: "https://example.org" },
      { type: "file", mediaType: "image/png", data: "AAAA" },
    ];
    runStep(session, { parts });
    expect(session.transcript.messages[1]).toEqual({ role: "assistant", parts });
  });

  test("that was shown stays the same object while the session goes on", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    askAboutCall(session, 1);
    answerCall(session, 1, { type: "modify", input: { other: true }, inputHash: "h" });
    allowCall(session, 1);
    finishCall(session, 1);
    const before = [...session.transcript.messages];
    const text = JSON.stringify(before);
    steerRun(session, "more");
    runStep(session, { calls: ["one"] });
    finishAll(session, 1);
    before.forEach((message, index) => {
      expect(session.transcript.messages[index]).toBe(message);
    });
    expect(JSON.stringify(before)).toBe(text);
  });
});

describe("input that comes while something is under way", () => {
  test("is shown after the message and the results of the call that did not see it", () => {
    const session = createStartedSession();
    prepareStep(session);
    steerRun(session, "during the call");
    finishModelCall(session, { calls: ["one"] });
    steerRun(session, "during the tool");
    finishAll(session, 1);
    steerRun(session, "before the next");
    expect(shown(session)).toEqual(["user do r1", "assistant t0", "tool t0"]);
    prepareStep(session);
    expect(shown(session).slice(3)).toEqual(["user during the call", "user during the tool", "user before the next"]);
  });

  test("is shown to the same step where its model call is prepared again", () => {
    const session = createStartedSession();
    prepareStep(session);
    steerRun(session, "more");
    restartRun(session);
    prepareStep(session);
    expect(shown(session)).toEqual(["user do r1", "user more"]);
    finishModelCall(session, { text: "both" });
    expect(session.state).toMatchObject({ for: "finish" });
  });

  test("to a queue is shown when its run starts", () => {
    const session = createStartedSession();
    prepareStep(session);
    queueRun(session, "r2");
    finishModelCall(session, { text: "hi" });
    endRun(session);
    expect(shown(session)).toEqual(["user do r1", "assistant hi", "user then r2"]);
    expect(session.transcript.queued.size).toBe(0);
  });
});

describe("what the model is told where its answer was no end", () => {
  test("comes once, however often the step is prepared", () => {
    for (const [said, text] of [
      [{ text: "half", finish: "length" }, continuePrompt],
      [{ text: "well" }, doneToolReminder],
    ] as const) {
      const session = createStartedSession({ requireDoneTool: true });
      runStep(session, said);
      prepareStep(session);
      restartRun(session);
      prepareStep(session);
      expect(shown(session)).toEqual(["user do r1", `assistant ${said.text}`, `user ${text}`]);
    }
  });

  test("comes before what a person says meanwhile", () => {
    const session = createStartedSession();
    runStep(session, { text: "half", finish: "length" });
    steerRun(session, "in French");
    prepareStep(session);
    expect(shown(session).slice(2)).toEqual([`user ${continuePrompt}`, "user in French"]);
  });

  test("comes again where a compaction took it away", () => {
    const session = createStartedSession();
    runStep(session, { text: "half", finish: "length" });
    prepareStep(session);
    restartRun(session);
    compactConversation(session, { keptFrom: session.log.length + 2 });
    prepareStep(session);
    expect(shown(session)).toEqual([`user ${standing("so far")}`, `user ${continuePrompt}`]);
  });
});

describe("a compaction", () => {
  function longSession(): Session {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two"] });
    finishAll(session, 2);
    runStep(session, { calls: ["one"] });
    finishAll(session, 1);
    return session;
  }

  test("puts a summary in the place of what is before", () => {
    const session = longSession();
    compactConversation(session, { keptFrom: session.transcript.seqs[3] ?? 0 });
    expect(shown(session)).toEqual([`user ${standing("so far")}`, "assistant t0", "tool t0"]);
    expect(session.state.context).toEqual({ readFrom: session.transcript.seqs[1], compactedSeq: session.log.length });
  });

  test("never parts a result from its call", () => {
    const session = longSession();
    compactConversation(session, { keptFrom: session.transcript.seqs[4] ?? 0 });
    expect(session.transcript.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
  });

  test("may take all of it, and a later one the summary of an earlier", () => {
    const session = longSession();
    compactConversation(session, { keptFrom: session.log.length + 2, summary: "first" });
    expect(shown(session)).toEqual([`user ${standing("first")}`]);
    compactConversation(session, { keptFrom: session.log.length + 2, summary: "second" });
    expect(shown(session)).toEqual([`user ${standing("second")}`]);
  });

  test("again from the same place replaces the summary only", () => {
    const session = longSession();
    const from = session.transcript.seqs[3] ?? 0;
    compactConversation(session, { keptFrom: from, summary: "first" });
    compactConversation(session, { keptFrom: from, summary: "second" });
    expect(shown(session)).toEqual([`user ${standing("second")}`, "assistant t0", "tool t0"]);
  });

  test("forgets what the attempts before it used, as a reader that begins there does not know it", () => {
    const session = longSession();
    prepareStep(session);
    failModelCall(session, { type: "compact" }, "context_overflow", { inputTokens: 7 });
    compactConversation(session, { keptFrom: session.log.length + 1 });
    runStep(session, { text: "Done." });
    expect(session.events.findLast(({ type }) => type === "step_finished")).toMatchObject({
      usage: { inputTokens: 10 },
    });
    expect(requireRun(session.state).usage.inputTokens).toBe(37);
  });

  test("that begins within the call for a last summary is read with that call, whose answer nobody sees", async () => {
    const session = createStartedSession({ maxSteps: 1, onMaxSteps: "summary" });
    runStep(session, { calls: ["one"] });
    finishAll(session, 1);
    prepareStep(session);
    steerRun(session, "and this");
    finishModelCall(session, { text: "In short." });
    startRun(session, "r2");
    prepareStep(session);
    restartRun(session);
    const { messages, origins } = session.transcript;
    const from = messages.findIndex((message) => textOf(message) === "and this");
    expect(session.log[(origins[from] ?? 0) - 1]?.event.type).toBe("steered");
    compactConversation(session, compactionRange(session.transcript, session.transcript.seqs[from] ?? 0));
    const { log, state } = session;
    const read = async (_: string, after = 0, most = log.length) => log.slice(after, after + most);
    const reread = await loadTranscript({ read, getBlob: async () => null }, "s", state);
    expect(reread.messages.map(textOf)).toEqual(session.transcript.messages.map(textOf));
    expect(shown(session)).not.toContain("assistant In short.");
  });

  test("without a summary changes nothing but what it cost", () => {
    const session = longSession();
    const before = [...session.transcript.messages];
    const usage = { inputTokens: 100 };
    compactConversation(session, { usage });
    expect(session.transcript.messages).toEqual(before);
    expect(session.state.context).toEqual({ readFrom: 1 });
    expect(requireRun(session.state).usage.inputTokens).toBe(120);
  });
});

describe("a transcript", () => {
  test("kept up to date is the one that is built from the whole log", () => {
    const session = createStartedSession();
    runStep(session, { parts: [call("a"), call("a")] });
    steerRun(session, "more");
    finishAll(session, 2);
    runStep(session, { text: "half", finish: "length" });
    runStep(session, { text: "whole" });
    endRun(session);
    startRun(session, "r2");
    queueRun(session, "r3");
    const rebuilt = createTranscript();
    for (const entry of session.log) appendEntry(rebuilt, entry);
    expect(rebuilt).toEqual(session.transcript);
  });

  test("grows at its end only", () => {
    const session = createStartedSession();
    const { messages } = session.transcript;
    const lengths: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const before: readonly Message[] = [...messages];
      runStep(session, { calls: ["one"] });
      finishAll(session, 1);
      expect(messages.slice(0, before.length)).toEqual(before);
      lengths.push(messages.length);
    }
    expect(lengths).toEqual([3, 5, 7]);
    expect(session.transcript.messages).toBe(messages);
  });
});
