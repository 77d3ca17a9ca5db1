/**
 * The fronts of a conversation on streams: keys that wait for the names of the files have no effect if something else is asked by then, and
 * nothing has an effect once the conversation is being left.
 */
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { answerDelayMs, type Front, type Talk } from "../../src/cli/conversation/fronts/front.js";
import { createLiveFront } from "../../src/cli/conversation/fronts/live-front.js";
import { createPlainFront } from "../../src/cli/conversation/fronts/plain-front.js";
import { createSessionControl } from "../../src/cli/conversation/session-control.js";
import { openPrompt } from "../../src/cli/screen/early-prompt.js";
import type { TtyStreams } from "../../src/cli/screen/tty.js";
import { createTerminalRedaction } from "../../src/cli/terminal/redaction.js";
import { createAgent, createClient, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const keys = verifies("CHAT-2#keys");

const createLive = (streams: TtyStreams) => createLiveFront(openPrompt(streams, { TERM: "xterm" }, "auto"));

/** A front on streams, with a session whose model pays, and a folder whose names are read when the test says so. */
function openFront(createFront: (streams: TtyStreams) => Front = createLive, store = createMemoryStore()) {
  vi.useFakeTimers({ toFake: ["performance"] });
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  let written = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    written += text;
  });
  const front = createFront({ input, output } as unknown as TtyStreams);
  const paid: unknown[] = [];
  const pay = defineTool({
    ...{ name: "pay", description: "Pays.", input: { type: "object", properties: {} } },
    execute(given) {
      paid.push(given);
      return "Paid.";
    },
  });
  const agent = createAgent({
    ...{ store, tools: [pay], canExecuteTool: () => "ask" as const },
    model: createScriptedModel([{ calls: [{ name: "pay", input: {} }] }, { text: "Done." }]),
  });
  const control = createSessionControl({
    ...{ agent, store, sessionId: "s", root: "/", models: [], unpriced: [], by: "ada" },
    ...{ mayReach: () => false, servers: { all: [] }, redaction: createTerminalRedaction({}), columns: () => 80 },
    onEarlierMessage: front.remember,
    onChange: () => front.changed(),
  });
  let readNames: (names: readonly string[]) => void = () => {};
  const names = new Promise<readonly string[]>((settle) => {
    readNames = settle;
  });
  const talk: Talk = {
    ...{ control, custom: [], rings: false, notifies: false },
    ...{ command: () => null, runOwn() {}, stopOwn: () => false, countProcesses: () => 0, quit() {} },
    rules: { explain() {}, offer() {}, keep() {} },
    ...{
      fileNames: () => names,
      resourceNames: async () => [],
      prompts: async () => [],
      argumentValues: async () => [],
    },
  };
  onTestFinished(async () => {
    await control.close(0);
    front.close();
    vi.useRealTimers();
  });
  /** Resolves when the question is on the screen. */
  const isAsked = () => vi.waitFor(() => expect(written).toMatch(/y yes|waits for your answer/));
  /** Types, and lets everything that follows happen. */
  async function type(text: string): Promise<void> {
    input.write(text);
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  }
  return {
    store,
    front,
    control,
    talk,
    paid,
    output,
    written: () => written,
    isAsked,
    type,
    session: createClient({ store }).session("s"),
    readNames,
  };
}

test("Tab does not lead to a question that appeared after it: what is typed next answers nothing", keys, async () => {
  const { front, control, talk, paid, isAsked, type, session, readNames } = openFront();
  front.talk(talk);
  await type("Read @no\t");
  control.send("Pay.");
  await isAsked();
  vi.advanceTimersByTime(10_000);
  readNames(["notes.txt"]);
  await type("y");
  await type("\x03");
  await type("n");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
  expect(paid).toEqual([]);
});

test("the same if the names are still being read when the person types on", keys, async () => {
  const { front, control, talk, paid, isAsked, type, session } = openFront();
  front.talk(talk);
  await type("Read @no\t");
  control.send("Pay.");
  await isAsked();
  vi.advanceTimersByTime(10_000);
  await type("y");
  await type("\x03");
  await type("n");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
  expect(paid).toEqual([]);
});

test("Enter does not send a draft that has replaced the one it was pressed for", keys, async () => {
  const { front, talk, type, session, readNames } = openFront();
  front.wait("opening…");
  await type("Read @no\t\r");
  front.talk({ ...talk, draft: "A message from before the fork" });
  readNames(["notes.txt"]);
  await type("!");
  await type("\x03");
  await type("Pay.\r");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "awaiting_human" }));
  expect(JSON.stringify(await session.messages())).not.toContain("before the fork");
});

test.each([
  { name: "live", createFront: createLive, early: ["y", "\x03"], answer: "y" },
  { name: "plain", createFront: createPlainFront, early: ["1\n"], answer: "1\n" },
])("what is typed in the first moment of a question does not answer it: $name", keys, async (front) => {
  const { control, talk, paid, isAsked, type, session, ...opened } = openFront(front.createFront);
  opened.front.talk(talk);
  control.send("Pay.");
  await isAsked();
  for (const text of front.early) await type(text);
  expect(control.view.questions.all()).toHaveLength(1);
  expect(await session.result()).toMatchObject({ status: "awaiting_human" });
  vi.advanceTimersByTime(answerDelayMs);
  await type(front.answer);
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
  expect(paid).toHaveLength(1);
});

test("what is typed before a slow terminal shows the question does not answer it", keys, async () => {
  const { front, control, talk, paid, output, isAsked, type, session } = openFront();
  front.talk(talk);
  output.pause().write("x".repeat(2 * output.writableHighWaterMark));
  await type("a");
  await type("\x7f");
  control.send("Pay.");
  await vi.waitFor(() => expect(control.view.questions.all()).toHaveLength(1));
  vi.advanceTimersByTime(10_000);
  await type("y");
  await type("\x03");
  expect(await session.result()).toMatchObject({ status: "awaiting_human" });
  output.resume();
  await isAsked();
  vi.advanceTimersByTime(answerDelayMs);
  await type("y");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
  expect(paid).toHaveLength(1);
});

test.each(["blocks until it has taken the frame", "buffers the frame"])(
  "what is typed while a slow terminal takes the question does not answer it: its stream %s",
  keys,
  async (how) => {
    const { front, control, talk, paid, output, isAsked, type, session } = openFront();
    front.talk(talk);
    const write = output.write.bind(output);
    vi.spyOn(output, "write").mockImplementation((text: string) => {
      const isQuestion = text.includes("y yes");
      if (isQuestion && how.startsWith("buffers")) output.pause();
      const isTaken = write(isQuestion ? text + " ".repeat(output.writableHighWaterMark) : text);
      if (isQuestion && how.startsWith("blocks")) vi.advanceTimersByTime(10_000);
      return how.startsWith("blocks") || isTaken;
    });
    control.send("Pay.");
    await vi.waitFor(() => expect(output.write).toHaveBeenCalledWith(expect.stringContaining("y yes")));
    if (how.startsWith("buffers")) vi.advanceTimersByTime(10_000);
    await type("y");
    await type("\x03");
    expect(await session.result()).toMatchObject({ status: "awaiting_human" });
    output.resume();
    await isAsked();
    vi.advanceTimersByTime(answerDelayMs);
    await type("y");
    await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
    expect(paid).toHaveLength(1);
  },
);

test("the same without a live screen", keys, async () => {
  const { front, control, talk, paid, output, isAsked, type, session } = openFront(createPlainFront);
  front.talk(talk);
  const write = output.write.bind(output);
  vi.spyOn(output, "write").mockImplementation((text: string) => {
    if (text.includes("waits for your answer")) vi.advanceTimersByTime(10_000);
    return write(text);
  });
  control.send("Pay.");
  await isAsked();
  await type("1\n");
  expect(await session.result()).toMatchObject({ status: "awaiting_human" });
  vi.advanceTimersByTime(answerDelayMs);
  await type("1\n");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
  expect(paid).toHaveLength(1);
});

test.each([
  ["live", createLive],
  ["plain", createPlainFront],
])("a Ctrl-C does not stop a run that is being left for later: %s", keys, async (_, createFront) => {
  // The process has listeners of other tests too.
  const before = process.listeners("SIGINT");
  const { front, control, talk, type, session } = openFront(createFront);
  front.talk(talk);
  control.send("Pay.");
  await vi.waitFor(() => expect(control.view.questions.all()).toHaveLength(1));
  front.leave("leaving…");
  for (const listener of process.listeners("SIGINT")) if (!before.includes(listener)) listener("SIGINT");
  await type("");
  await control.close(0);
  expect(await session.result()).toMatchObject({ status: "awaiting_human" });
});

test("messages of an earlier process can be recalled", keys, async () => {
  const first = openFront();
  first.front.talk(first.talk);
  first.control.send("Pay.");
  await first.isAsked();
  vi.advanceTimersByTime(10_000);
  await first.type("n");
  const { session, store } = first;
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "completed" }));
  await first.control.close(0);
  const { front, control, talk, type, written } = openFront(createLive, store);
  front.talk(talk);
  await control.open();
  await vi.waitFor(() => expect(written()).toContain("Pay."));
  await type("\x1b[A");
  await type(" Again.\r");
  await vi.waitFor(async () => expect(JSON.stringify(await session.messages())).toContain("Pay. Again."));
});
