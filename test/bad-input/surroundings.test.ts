/**
 * Surroundings that give out (docs/bad-input.md): clocks, disks, locks, answers of the store that never come.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type RunResult, type Store } from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { openFileStore } from "../stores/open.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { expectBadInputTable, formatShown, type Row } from "./page.js";

const year = 365 * 24 * 60 * 60 * 1_000;

const script: Script = ({ messages }) =>
  messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "work" }] };

type Trouble = {
  readonly store: Store;
  readonly begin: () => void;
  readonly end: () => void;
};

type Case = {
  readonly input: string;
  /** The wall clock, of who goes on, against that of who began: milliseconds. */
  readonly shift?: number;
  readonly trouble?: (inner: Store) => Trouble;
};

/** From the tool on, the store answers a commit in this way, a number of times. */
function answering(
  times: number,
  fail: (inner: Store, ...commit: Parameters<Store["commit"]>) => ReturnType<Store["commit"]>,
) {
  return (inner: Store): Trouble => {
    let left = 0;
    return {
      store: {
        ...inner,
        async commit(lease, commit) {
          if (left === 0) return inner.commit(lease, commit);
          left -= 1;
          return fail(inner, lease, commit);
        },
      },
      begin() {
        left = times;
      },
      end() {
        left = 0;
      },
    };
  };
}

function sqliteError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

const failing = (code: string, message: string) =>
  answering(1, async () => {
    throw sqliteError(code, message);
  });

const cases: readonly Case[] = [
  { input: "The clock of the process that continues is a year ahead", shift: year },
  { input: "The clock of the process that continues is a year behind", shift: -year },
  { input: "SQLITE_BUSY, three times", trouble: answering(3, async () => ({ type: "busy" })) },
  { input: "SQLITE_BUSY, permanently", trouble: answering(Number.POSITIVE_INFINITY, async () => ({ type: "busy" })) },
  { input: "SQLITE_FULL", trouble: failing("SQLITE_FULL", "database or disk is full") },
  { input: "SQLITE_READONLY", trouble: failing("SQLITE_READONLY", "attempt to write a readonly database") },
  { input: "SQLITE_CORRUPT", trouble: failing("SQLITE_CORRUPT", "database disk image is malformed") },
  { input: "SQLITE_NOTADB", trouble: failing("SQLITE_NOTADB", "file is not a database") },
  {
    input: "The store has written, but its reply is lost",
    trouble(inner) {
      const { store, failCommits, repair } = createFailingStore(inner);
      return { store, begin: () => failCommits(1, { afterWriting: true }), end: repair };
    },
  },
];

async function play({ shift = 0, trouble }: Case, inner: Store): Promise<Omit<Row, "input">> {
  const { store, begin, end } = trouble?.(inner) ?? { store: inner, begin: () => {}, end: () => {} };
  const ran: string[] = [];
  const clock = createTestClock();
  const work = (of: () => void) =>
    defineTool({
      name: "work",
      description: "Works.",
      input: { type: "object" },
      needsApproval: shift !== 0,
      execute(_, { idempotencyKey }) {
        ran.push(idempotencyKey);
        of();
        return "worked";
      },
    });
  const first = createAgent({ model: createScriptedModel(script), tools: [work(begin)], store, clock });
  const doing = first.run("Go", { sessionId: "s", runId: "r" });
  const one = await passing(doing, clock);
  end();
  const other = createTestClock(clock.now() + shift);
  const second = createAgent({
    model: createScriptedModel(script),
    tools: [work(() => {})],
    store: inner,
    clock: other,
  });
  const session = second.session("s");
  if (shift !== 0) await session.answer("r/1/1", { type: "approve" });
  const two =
    one.status === "completed"
      ? one
      : await passing(
          second
            .run("Go", { sessionId: "s", runId: "r" })
            .then((result) => (result.status === "interrupted" ? session.resume() : result)),
          other,
        );
  expect(two.status).toBe("completed");
  expect(await inner.verify()).toEqual([]);
  expect(ran).toHaveLength(1);
  expect(await passing(second.run("And now?", { sessionId: "s", interactive: false }), other)).toMatchObject({
    status: "completed",
  });
  const results = (await session.messages()).flatMap((message) =>
    message.role === "tool"
      ? message.parts.map(({ output }) => formatShown(output.type === "text" ? output.text : "…"))
      : [],
  );
  const told = two === one ? ending(two) : `${ending(one)}\nresumed: ${ending(two)}`;
  return { user: told, model: results[0] ?? "no result" };
}

function ending(result: RunResult): string {
  const why = "error" in result && result.error !== undefined ? `: ${formatShown(result.error.message, 80)}` : "";
  return `**${result.status}**${"reason" in result ? ` (${result.reason})` : ""}${why}`;
}

/** Lets time pass until it is done. */
async function passing<T>(doing: Promise<T>, clock: ReturnType<typeof createTestClock>): Promise<T> {
  let isOver = false;
  void doing.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(50);
  return await doing;
}

const rows = new Map<string, Row>();

test.each(cases)("$input", verifies("REC-2"), async (one) => {
  const inMemory = await play(one, createMemoryStore());
  const file = await openFileStore({ synchronous: "normal" });
  try {
    expect(await play(one, file.store)).toEqual(inMemory);
  } finally {
    await file.close();
  }
  rows.set(one.input, { input: one.input, ...inMemory });
});

test("the page says the same", () => {
  expect(rows.size).toBe(cases.length);
  expectBadInputTable(
    "Environment",
    cases.flatMap((one) => rows.get(one.input) ?? []),
  );
});
