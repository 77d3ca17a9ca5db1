/**
 * Reminders in the conversation on a terminal: the model sets them, and they come while the session is open. Sleeps of tools are continued
 * in the same way.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { agentName } from "../../src/cli/agent/agent-name.js";
import { createFolderAgent } from "../../src/cli/agent/folder-agent.js";
import { createSessionControl } from "../../src/cli/conversation/session-control.js";
import { createPermissions } from "../../src/cli/permissions/permissions.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import { createTerminalRedaction } from "../../src/cli/terminal/redaction.js";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createSchedules,
  createWorker,
  defineTool,
  type Json,
  PawlError,
  type Store,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-3");

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], shouldAdvanceTime: true }));
afterEach(() => void vi.useRealTimers());

/** Lets everything happen that needs no timer. */
async function takeTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
}

type Faults = {
  /** How many of the next lists of reminders fail. */
  failingLists: number;
  /** What a reminder contains that cannot be read. */
  unreadable: string | null;
  /** Called when a reminder has been stored. */
  onStored: () => void;
  /** After which entries the log was read since the model was last called. */
  readonly reads: number[];
};

/** The store is slow to store a reminder, as a real one is: the terminal sees the step that sets it before it is stored. */
function createFaultyStore(faults: Faults): Store {
  const store = createMemoryStore();
  const schedules = store.schedules as NonNullable<Store["schedules"]>;
  return {
    ...store,
    read(sessionId, after = 0, ...given) {
      faults.reads.push(after);
      return store.read(sessionId, after, ...given);
    },
    schedules: {
      ...schedules,
      async put(...given) {
        await takeTurns();
        const stored = await schedules.put(...given);
        faults.onStored();
        return stored;
      },
      async get(id) {
        const row = await schedules.get(id);
        if (faults.unreadable === null || !JSON.stringify(row).includes(faults.unreadable)) return row;
        throw new PawlError("store_failed", "This row cannot be read.");
      },
      async list(options) {
        if (faults.failingLists === 0) return schedules.list(options);
        faults.failingLists -= 1;
        throw new PawlError("store_failed", "The store is busy.");
      },
    },
  };
}

function createWorld(inputs: readonly Json[]) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-reminders-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const faults: Faults = { failingLists: 0, unreadable: null, onStored() {}, reads: [] };
  const store = createFaultyStore(faults);
  const permissions = createPermissions({ allowAll: false, root: base, home: base, environment: {} });
  const createAgent = () =>
    createFolderAgent({
      ...{ store, permissions, root: base, home: base, allowShell: false, contextFiles: false },
      model: createScriptedModel(({ messages, tools }) => {
        faults.reads.length = 0;
        // A new day adds a message after the request.
        const since = messages.slice(messages.findLastIndex(({ role }) => role !== "user") + 1);
        const text = since.map((message) => JSON.stringify(message)).join("");
        if (!tools.some(({ name }) => name === "remind_me")) throw new Error("The tool is missing.");
        if (text.includes("Look again."))
          return { calls: [{ name: "remind_me", input: { note: "Look again.", in_minutes: 5 } }] };
        if (text.includes("Remind me.")) return { calls: inputs.map((input) => ({ name: "remind_me", input })) };
        return { text: text.includes("Reminder that you set") ? "I looked at the build." : "Done." };
      }),
    });
  const open = async () => {
    const control = createSessionControl({
      ...{ agent: createAgent(), store, sessionId: "s", root: base, models: [], unpriced: [], by: "ada" },
      mayReach: permissions.mayReach,
      servers: { all: [] },
      redaction: createTerminalRedaction({}),
      columns: () => 80,
      onEarlierMessage() {},
      onChange() {},
    });
    await control.open();
    return control;
  };
  const session = createClient({ store }).session("s");
  const countAnswers = async () => {
    const messages = await session.messages();
    return messages.filter((message) => JSON.stringify(message).includes("I looked at the build.")).length;
  };
  const comesToRest = (answers: number) =>
    vi.waitFor(
      async () => {
        expect(await session.result()).toMatchObject({ status: "completed" });
        expect(await countAnswers()).toBe(answers);
      },
      { timeout: 10_000 },
    );
  return { store, faults, session, createAgent, open, comesToRest };
}

const inTenMinutes = { note: "Look at the build.", in_minutes: 10 };

test("a reminder is set without a question, and comes to the open terminal once", proven, async () => {
  const { session, open, comesToRest } = createWorld([inTenMinutes]);
  const control = await open();
  control.send("Remind me.");
  await comesToRest(0);
  expect(await session.scheduled()).toMatchObject([{ by: "remind_me" }]);
  vi.advanceTimersByTime(600_000);
  await comesToRest(1);
  expect(await session.scheduled()).toEqual([]);
  await control.close(0);
});

test("a reminder comes although its run was stopped right after it was set", proven, async () => {
  const { session, faults, open, comesToRest } = createWorld([inTenMinutes]);
  const control = await open();
  control.send("Hello.");
  await comesToRest(0);
  faults.onStored = control.stop;
  control.send("Remind me.");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ status: "aborted" }));
  expect(await session.scheduled()).toHaveLength(1);
  await takeTurns();
  vi.advanceTimersByTime(600_000);
  await comesToRest(1);
  await control.close(0);
});

test("a reminder is not late if the machine has slept, or the store has failed", proven, async () => {
  const { session, faults, open, comesToRest } = createWorld([inTenMinutes]);
  const control = await open();
  control.send("Remind me.");
  await comesToRest(0);
  await takeTurns();
  // Timers do not count this time.
  vi.setSystemTime(Date.now() + 600_000);
  faults.failingLists = 1;
  vi.advanceTimersByTime(60_000);
  await vi.waitFor(() => expect(faults.failingLists).toBe(0));
  expect(await session.scheduled()).toHaveLength(1);
  await takeTurns();
  vi.advanceTimersByTime(60_000);
  await comesToRest(1);
  expect(await session.scheduled()).toEqual([]);
  await control.close(0);
});

test(
  "a reminder that was due while the terminal was closed comes when the session is opened again",
  proven,
  async () => {
    const { session, open, comesToRest } = createWorld([inTenMinutes]);
    const first = await open();
    first.send("Remind me.");
    await comesToRest(0);
    await first.close(0);
    vi.advanceTimersByTime(86_400_000);
    await comesToRest(0);
    const second = await open();
    await comesToRest(1);
    expect(await session.scheduled()).toEqual([]);
    await second.close(0);
  },
);

test("a worker delivers the reminders of a closed session, and the terminal does not repeat them", proven, async () => {
  const { store, session, open, createAgent, comesToRest } = createWorld([inTenMinutes]);
  const first = await open();
  first.send("Remind me.");
  await comesToRest(0);
  await first.close(0);
  vi.advanceTimersByTime(600_000);
  await createWorker({ store, agents: [createAgent()] }).runUntilIdle();
  await comesToRest(1);
  const second = await open();
  second.send("And?");
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ text: "Done." }));
  await comesToRest(1);
  await second.close(0);
});

test("a sleep of a tool is not late if the machine has slept", async () => {
  const store = createMemoryStore();
  const napping = defineTool({
    name: "nap",
    description: "Sleeps.",
    input: { type: "object", properties: {} },
    durable: true,
    async execute(_input, { sleep }) {
      await sleep("nap", { ms: 600_000 });
      return "Slept.";
    },
  });
  const model = createScriptedModel([{ calls: [{ name: "nap", input: {} }] }, { text: "Good morning." }]);
  const control = createSessionControl({
    ...{ agent: createAgent({ model, tools: [napping], store }), store, sessionId: "s", root: tmpdir() },
    ...{ models: [], unpriced: [], by: "ada", mayReach: () => false, servers: { all: [] } },
    redaction: createTerminalRedaction({}),
    columns: () => 80,
    onEarlierMessage() {},
    onChange() {},
  });
  control.send("Sleep.");
  const session = createClient({ store }).session("s");
  await vi.waitFor(async () => expect((await store.describe("s"))?.holder).toBe(null));
  await takeTurns();
  // Timers do not count this time.
  vi.setSystemTime(Date.now() + 600_000);
  vi.advanceTimersByTime(60_000);
  await vi.waitFor(async () => expect(await session.result()).toMatchObject({ text: "Good morning." }));
  await control.close(0);
});

test("a reminder that cannot be sent does not keep back the later ones, and is reported once", proven, async () => {
  const broken = { note: "Water the plants.", in_minutes: 5 };
  const { session, faults, open, comesToRest } = createWorld([broken, inTenMinutes]);
  const control = await open();
  control.send("Remind me.");
  await comesToRest(0);
  faults.unreadable = broken.note;
  await takeTurns();
  vi.advanceTimersByTime(600_000);
  await comesToRest(1);
  expect(await session.scheduled()).toHaveLength(1);
  vi.advanceTimersByTime(60_000);
  await takeTurns();
  const shown = control.view.takeHistory().map(toPlainText);
  expect(shown.filter((line) => line.includes("This row cannot be read."))).toHaveLength(1);
  faults.unreadable = null;
  vi.advanceTimersByTime(60_000);
  await comesToRest(2);
  await control.close(0);
});

test("a run that a reminder began asks before it sets the next one", proven, async () => {
  const { session, open, comesToRest } = createWorld([{ note: "Look again.", in_minutes: 5 }]);
  const control = await open();
  control.send("Remind me.");
  await comesToRest(0);
  await takeTurns();
  vi.advanceTimersByTime(300_000);
  await vi.waitFor(async () => {
    const [pending] = await session.pendingApprovals();
    expect(pending).toMatchObject({
      name: "remind_me",
      question: expect.stringContaining("you have not written to it"),
    });
  });
  expect(await session.scheduled()).toEqual([]);
  await control.close(0);
});

test("a run that a schedule began asks before it sets a reminder", proven, async () => {
  const { store, session, createAgent } = createWorld([inTenMinutes]);
  const agent = createAgent();
  await createSchedules({ store }).put({
    ...{ id: "daily", everyMs: 60_000, session: { id: "s" }, agent: agentName, input: "Remind me." },
  });
  vi.advanceTimersByTime(60_000);
  await createWorker({ store, agents: [agent] }).runUntilIdle();
  expect(await session.pendingApprovals()).toMatchObject([
    { name: "remind_me", question: expect.stringContaining("you have not written to it") },
  ]);
  expect(await session.scheduled()).toEqual([]);
});

test("whether a reminder asks is found without reading the earlier runs of its session", proven, async () => {
  const { session, faults, open, comesToRest } = createWorld([inTenMinutes]);
  const control = await open();
  control.send("Hello.");
  await comesToRest(0);
  const { seq } = await session.state();
  let reads: readonly number[] | null = null;
  faults.onStored = () => {
    reads = faults.reads.filter((after) => after < seq);
  };
  control.send("Remind me.");
  await vi.waitFor(() => expect(reads).not.toBeNull());
  expect(reads).toEqual([]);
  await comesToRest(0);
  await control.close(0);
});
