/**
 * docs/log-format.md has everything that is stored, and its examples are what a store takes.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type Call,
  type EventType,
  formatVersion,
  type InboxBody,
  initialState,
  type PublicEventType,
  reasons,
  transition,
  transitionTable,
} from "../../src/core/index.js";
import { decodeEntries, decodeMessage, decodeState } from "../../src/stores/shared/decode.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { withHandle, withTempFolder } from "../stores/open.js";
import { verifies } from "../verifies.js";

const proven = verifies("STOR-5");
const page = readFileSync("docs/log-format.md", "utf8");

/** What stands under a heading, up to the next heading that is not below it. */
function under(heading: string): string {
  const depth = heading.split(" ")[0]?.length;
  const [, rest] = page.split(`\n${heading}\n`);
  if (rest === undefined) throw new Error(`docs/log-format.md has no heading "${heading}"`);
  return rest.split(new RegExp(`^#{1,${depth}} `, "m"))[0] ?? "";
}

/** The names in backticks in the first cells of a text's tables. */
function rowsOf(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [, first] = /^\| (`[^|]+`) \|/.exec(line) ?? [];
    return namesIn(first ?? "");
  });
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name.replace(/\?$/, ""));
}

/** The words that stand in backticks, outside of the examples. */
const named = new Set(namesIn(page.replace(/^```.*?^```$/gms, "")).flatMap((name) => name.match(/\w+/g) ?? []));

type Example = { readonly [field: string]: unknown };

/** The JSON examples in a text: a block holds one, or one a line. */
function examplesIn(text: string): readonly Example[] {
  return [...text.matchAll(/^```(jsonl?)\n(.*?)^```$/gms)].flatMap(([, kind, body = ""]) =>
    (kind === "jsonl" ? body.trim().split("\n") : [body]).map((one): Example => JSON.parse(one)),
  );
}

const eventTypes = Object.keys(transitionTable.idle) as readonly EventType[];
const isReserved = (type: EventType) => rowsOf(under("## Reserved events")).includes(type);
const placeOf = (seq: number) => ({ file: "docs/log-format.md", sessionId: "s", seq });

test("names the present format", proven, () => {
  expect(page).toContain(`The number of the format is **${formatVersion}**`);
});

test("every block of code that says it is JSON parses", proven, () => {
  expect(examplesIn(page).length).toBeGreaterThan(50);
});

test.for(eventTypes)("event %s: a heading with an example, or a row among the reserved ones", proven, (type) => {
  const examples = examplesIn(under(isReserved(type) ? "## Reserved events" : `### \`${type}\``));
  const example = examples.find((one) => one.type === type);
  expect(example).toBeDefined();
  const text = JSON.stringify([example]);
  expect(decodeEntries(text, placeOf(1))).toEqual([{ seq: 1, event: example }]);
});

test("every heading of an event is an event", proven, () => {
  const headings = [...under("## Events").matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name);
  const reserved = rowsOf(under("## Reserved events"));
  expect([...headings, ...reserved].sort()).toEqual([...eventTypes].sort());
});

test("the events that are said to be reserved are stale in every state", proven, () => {
  for (const type of eventTypes.filter(isReserved))
    for (const pairs of Object.values(transitionTable)) expect(pairs[type]).toBe("stale");
});

test("every status has a row, and the example of a state is one", proven, () => {
  expect([...rowsOf(under("### Statuses"))].sort()).toEqual(Object.keys(transitionTable).sort());
  const [state] = examplesIn(under("### Statuses"));
  expect(decodeState(JSON.stringify(state), placeOf(Number(state?.seq)))).toEqual(state);
});

test("the example of a row is one", proven, () => {
  const row = examplesIn(under("## Sessions, rows and entries")).find((one) => Array.isArray(one.events));
  const { length } = (row?.events ?? []) as readonly unknown[];
  const entries = decodeEntries(JSON.stringify(row?.events), placeOf(length));
  const state = decodeState(JSON.stringify(row?.state), placeOf(length));
  expect(entries.reduce((before, { event }) => transition(before, event), initialState as typeof state)).toEqual(state);
});

test("every status of a call has a row", proven, () => {
  const statuses: { readonly [Name in Call["status"]]: true } = {
    deciding: true,
    asking: true,
    ready: true,
    running: true,
    retrying: true,
    reconciling: true,
    waiting: true,
    settling: true,
    done: true,
  };
  expect([...rowsOf(under("### Calls"))].sort()).toEqual(Object.keys(statuses).sort());
});

test("every message of the inbox has a row and an example", proven, () => {
  const types: { readonly [Type in InboxBody["type"]]: true } = {
    input: true,
    answer: true,
    result: true,
    abort: true,
    child: true,
    history: true,
    data: true,
    session_change: true,
    rules_change: true,
    compaction_request: true,
  };
  const text = under("## Inbox").split("### Message ids")[0] ?? "";
  expect([...rowsOf(text)].sort()).toEqual(Object.keys(types).sort());
  const examples = examplesIn(text);
  const decoded = examples.map((one) => decodeMessage(JSON.stringify(one), placeOf(0)));
  expect(decoded).toEqual(examples);
  expect(decoded.map(({ body }) => body.type).sort()).toEqual(Object.keys(types).sort());
});

test("every event has a row that tells its public events, and every public event is told", proven, () => {
  const types: { readonly [Type in PublicEventType]: true } = {
    session_created: true,
    history_added: true,
    run_started: true,
    run_queued: true,
    steered: true,
    sources_changed: true,
    reasoning: true,
    text: true,
    message: true,
    attempt_withdrawn: true,
    call_start: true,
    tool_call: true,
    child_started: true,
    approval_requested: true,
    approval_answered: true,
    data_changed: true,
    session_changed: true,
    content_redacted: true,
    handed_off: true,
    tool_step: true,
    tool_failed: true,
    tool_result: true,
    call_complete: true,
    step_finished: true,
    attempt_failed: true,
    compacted: true,
    abort_requested: true,
    restarted: true,
    late_result: true,
    hook_failed: true,
    suspended: true,
    wait_started: true,
    wait_over: true,
    final: true,
  };
  const text = under("## Public events");
  const rows = text.split("\n").flatMap((line) => namesIn(/^\| ([^|]+) \|/.exec(line)?.[1] ?? ""));
  expect([...rows].sort()).toEqual(eventTypes.filter((type) => !isReserved(type)).sort());
  const told = new Set(namesIn(text));
  expect(Object.keys(types).filter((type) => !told.has(type))).toEqual([]);
});

test("every reason of an end is named", proven, () => {
  expect(Object.keys(reasons).filter((reason) => !named.has(reason))).toEqual([]);
});

test("every column of SQLite's tables has a row, and no row is without a column", proven, async () => {
  await withTempFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    await (await openSqliteStore({ path })).close();
    await withHandle(path, (handle) => {
      const columns = (table: string) =>
        handle.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as readonly { readonly name: string }[];
      const tables = handle
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .all() as readonly { readonly name: string }[];
      expect(tables.length).toBeGreaterThan(0);
      for (const { name } of tables)
        expect([...rowsOf(under(`#### \`${name}\``))].sort(), name).toEqual(
          columns(name)
            .map((column) => column.name)
            .sort(),
        );
      const version = handle.prepare("SELECT user_version FROM pragma_user_version").get() as Example;
      expect(under("## SQLite")).toContain(`tables, now ${String(version.user_version)}.`);
    });
  });
});

test("every member that the golden logs show is named", proven, () => {
  // A line is "event run_started.limits.maxSteps: number".
  const members = readFileSync("test/golden/format.txt", "utf8")
    .split("\n")
    .flatMap((line) =>
      line
        .replace(/: .*$/, "")
        .split(/[.[\]]+/)
        .slice(1),
    );
  expect(members).toContain("maxSteps");
  expect([...new Set(members)].filter((member) => member !== "" && !named.has(member))).toEqual([]);
});

test.for([
  "data/message",
  "data/model-settings",
  "data/session-data",
  "machine/event",
  "machine/inbox",
  "machine/reserved-events",
  "machine/state",
])("every field that is declared in core/%s is named, reserved ones too", proven, (file) => {
  const source = readFileSync(`src/core/${file}.ts`, "utf8");
  const fields = [...source.matchAll(/\breadonly (\w+)\??:/g)].map(([, field = ""]) => field);
  expect(fields.length).toBeGreaterThan(0);
  expect([...new Set(fields)].filter((field) => !named.has(field))).toEqual([]);
});
