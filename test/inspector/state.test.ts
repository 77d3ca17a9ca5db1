/**
 * The state of the inspector as data: what frames and answers of a server make of it. No browser is needed.
 */
import { describe, expect, test } from "vitest";
import { fileEditIn } from "../../src/core/index.js";
import { createMemoryStore, type MessageDelta, type PublicEvent } from "../../src/index.js";
import {
  type AppState,
  initialState,
  listRows,
  reduce,
  type WaitingCall,
} from "../../src/inspector/state/app-state.js";
import { listChoices } from "../../src/inspector/state/decisions.js";
import {
  formatAge,
  formatCost,
  formatCount,
  formatDuration,
  formatShortCount,
  resolveShownStatus,
} from "../../src/inspector/state/format.js";
import { countHidden, splitHidden } from "../../src/inspector/state/hidden-text.js";
import {
  addItem,
  type Field,
  type FieldValues,
  type ListItem,
  parseAndCheck,
  toFieldValues,
  toFormFields,
  toInput,
} from "../../src/inspector/state/input-form.js";
import { diffLines } from "../../src/inspector/state/line-diff.js";
import { formatFragment, parseRoute, type Route } from "../../src/inspector/state/route.js";
import { emptySession, reduceSession, type SessionState } from "../../src/inspector/state/session-state.js";
import { toStepItems } from "../../src/inspector/state/step-items.js";
import { type LoadedStep, toStepRow } from "../../src/inspector/state/step-rows.js";
import { countSteps, createTimeline, findNextStep } from "../../src/inspector/state/timeline.js";
import { createStreamView, type StreamFrame } from "../../src/server/client/index.js";
import { withServer } from "../server/rig.js";
import { editInput, writeOtherSessions, writeWaitingSession } from "./desk.js";

/** The state after the frames of a session's stream, as the page takes them. */
function watched(frames: readonly StreamFrame[], from: SessionState = emptySession("s")): SessionState {
  const view = createStreamView();
  return frames.reduce((state, frame) => {
    const applied = view.apply(frame);
    if (applied === "event")
      return reduceSession(state, { type: "event", event: frame.data as PublicEvent, partial: view.partial() });
    if (applied === "partial") return reduceSession(state, { type: "partial", partial: view.partial() });
    return state;
  }, from);
}

/** What the server says of a session's steps, and all events of its log. */
async function recorded(sessionId?: string) {
  const store = createMemoryStore();
  const id = await writeWaitingSession(store, sessionId);
  await writeOtherSessions(store);
  let found = { steps: [] as readonly LoadedStep[], frames: [] as readonly StreamFrame[] };
  await withServer({ store, work: false }, async ({ ask }) => {
    const { steps } = (await ask("GET", `/v1/sessions/${id}/steps`)).json;
    const { events } = (await ask("GET", `/v1/sessions/${id}/events?limit=500`)).json;
    const frames = events.map((data: { seq: number; index: number }) => ({ id: `${data.seq}.${data.index}`, data }));
    found = { steps, frames };
  });
  return found;
}

/** What has to be the same however a row came about: times differ, because events have only those of commits. */
const lasting = ({ key, attempts, input, output, calls, flags }: SessionState["rows"][number]) => ({
  ...{ key, attempts, input, output, flags },
  calls: calls.map(({ name, outcome }) => ({ name, outcome })),
});

describe("a session", () => {
  test("that was watched has the steps that the server lists", async () => {
    const { steps, frames } = await recorded();
    const live = watched(frames);
    expect(live.rows.map(lasting)).toEqual(steps.map(toStepRow).map(lasting));
    expect(live.rows).toHaveLength(3);
    expect(live.runs.size).toBe(1);
  });

  test("takes no event twice, wherever the loading of steps and the stream meet", async () => {
    const { steps, frames } = await recorded();
    const loaded = reduceSession(emptySession("s"), { type: "newest_loaded", steps, events: [], isAll: true });
    for (let cut = 0; cut < frames.length; cut += 1) {
      const both = watched(frames.slice(cut), loaded);
      expect(both.rows.map(lasting)).toEqual(loaded.rows.map(lasting));
    }
  });

  test("shows what was said, called, asked and failed, in the order of the log", async () => {
    const { frames } = await recorded();
    const { rows, details } = watched(frames);
    const items = toStepItems(details.get(rows[2]?.key ?? "")?.events ?? [], null);
    expect(items.map((item) => (item.kind === "call" ? item.name : item.kind))).toEqual([
      "note",
      "text",
      "edit_file",
      "shell",
    ]);
    expect(items[2]).toMatchObject({ asked: { why: "policy" }, outcome: null, answers: [] });
  });

  test("says that the call of a child session took as long as the child", () => {
    const call = { sessionId: "s", runId: "r", callKey: "r/1/1", name: "lead", modelCallIndex: 1 };
    const items = toStepItems(
      [
        { ...call, seq: 5, index: 1, at: 1_000, type: "child_started", childId: "c" },
        { ...call, seq: 9, index: 1, at: 1_406, type: "call_complete", status: "ok", durationMs: 0 },
      ] as unknown as Parameters<typeof toStepItems>[0],
      null,
    );
    expect(items).toMatchObject([{ kind: "call", childId: "c", ms: 406 }]);
  });

  const attempt = { runId: "r", modelCallIndex: 1, attempt: 1 };
  const delta = (seq: number, more: object): StreamFrame => ({
    data: { type: "delta", n: 1, delta: { ...attempt, seq, id: "t", ...more } as unknown as MessageDelta },
  });
  const logged = (seq: number, type: string, more: object = {}): StreamFrame => ({
    id: `${seq}.0`,
    data: { sessionId: "s", ...attempt, seq, index: 0, at: seq, type, ...more } as unknown as PublicEvent,
  });
  const twoWords = [delta(1, { kind: "text-delta", text: "two " }), delta(2, { kind: "text-delta", text: "words" })];

  test("has a step as soon as a delta names it, and the text as far as it came", () => {
    const state = watched(twoWords);
    expect(state.rows).toMatchObject([{ key: "r/1", flags: ["under_way"] }]);
    expect(toStepItems([], state.partial)).toMatchObject([{ kind: "text", text: "two words", isOpen: true }]);
  });

  test("keeps the text of an attempt that a limit cut off until its message comes", () => {
    const cutOff = [...twoWords, logged(3, "attempt_failed", { next: "give_up", failure: { kind: "cancelled" } })];
    expect(watched(cutOff).partial?.message.parts).toMatchObject([{ text: "two words" }]);
    const parts = [{ type: "text", text: "two words" }];
    const whole = [...cutOff, logged(4, "message", { message: { role: "assistant", parts } })];
    expect(watched(whole).partial).toBeNull();
  });

  test("shows what the model has thought once, although its event comes before the message", () => {
    const thought = logged(2, "reasoning", { text: "hm" });
    const { partial } = watched([delta(1, { kind: "reasoning-delta", text: "hm" }), thought]);
    expect(toStepItems([thought.data as PublicEvent], partial)).toMatchObject([{ kind: "reasoning", text: "hm" }]);
  });

  test("gives a call that is being written the key that it has in the log", () => {
    const { partial } = watched([
      delta(1, { kind: "tool-input-start", id: "first", name: "shell" }),
      delta(2, { kind: "tool-input-start", id: "search", name: "web_search", providerExecuted: true }),
      delta(3, { kind: "tool-input-start", id: "second", name: "read_file" }),
      delta(4, { kind: "tool-call", id: "second", name: "read_file", input: "{}" }),
    ]);
    const calls = toStepItems([], partial).map((item) => (item.kind === "call" ? [item.name, item.callKey] : null));
    expect(calls).toEqual([
      ["read_file", "r/1/1"],
      ["shell", "r/1/2"],
      ["web_search", "search"],
    ]);
  });

  test("keeps the details of a bounded number of steps", () => {
    let state = emptySession("s");
    for (let index = 1; index <= 1_000; index += 1)
      state = reduceSession(state, { type: "details_loaded", step: `r/${index}`, events: [] });
    expect(state.details.size).toBe(300);
    expect(state.details.has("r/1000")).toBe(true);
  });

  test("has its newest steps first, and the earlier ones before them", async () => {
    const { steps } = await recorded();
    const newest = reduceSession(emptySession("s"), {
      type: "newest_loaded",
      steps: steps.slice(2),
      events: [],
      isAll: false,
    });
    const one = reduceSession(newest, { type: "earlier_loaded", steps: steps.slice(0, 1), events: [], isLast: false });
    expect(one).toMatchObject({ hasNewest: true, isIndexed: false, early: 1 });
    const all = reduceSession(one, { type: "earlier_loaded", steps: steps.slice(1), events: [], isLast: false });
    expect(all.rows).toEqual(steps.map(toStepRow));
    expect(all.isIndexed).toBe(true);
  });

  test("finds problems and counts them", async () => {
    const { steps } = await recorded();
    const rows = steps.map(toStepRow);
    const lines = createTimeline({ rows, runs: new Map(), marks: [] }, "all", "");
    expect(lines.map(({ kind }) => kind)).toEqual(["run", "step", "step", "step"]);
    expect(countSteps(rows)).toEqual({ failed: 1, waiting: 1, retried: 1, slow: 0 });
    expect(findNextStep(lines, 1, 1, ({ flags }) => flags.includes("waits"))).toBe(3);
    expect(createTimeline({ rows, runs: new Map(), marks: [] }, "all", "read_file")).toHaveLength(1);
  });
});

describe("the list of sessions", () => {
  const listed = (sessionId: string, more: object = {}) =>
    ({
      ...{ sessionId, info: { agent: "a", model: "m", title: sessionId }, status: "completed", activity: "resting" },
      ...{
        seq: 1,
        createdAt: 1,
        updatedAt: 1,
        inbox: 0,
        isHeld: false,
        hasChildren: false,
        lastRun: null,
        questions: 0,
        ...more,
      },
    }) as const;
  test("shows a run whose process has died as interrupted", () => {
    const running = { status: "tool_running", activity: "active" } as const;
    expect(resolveShownStatus(listed("one", { ...running, isHeld: true }))).toBe("tool_running");
    expect(resolveShownStatus(listed("one", { ...running, isHeld: false }))).toBe("interrupted");
    expect(resolveShownStatus(listed("one"))).toBe("completed");
  });

  const ids = ({ list }: AppState) =>
    list.sessions.status === "ready" ? list.sessions.value.map(({ sessionId }) => sessionId) : [];
  const state = reduce(initialState({ screen: "sessions" }), {
    ...{ type: "list_loaded", next: null, isMore: false },
    sessions: [listed("one"), listed("two")],
  } as Parameters<typeof reduce>[1]);
  const told = (session: object, from = state) =>
    reduce(from, { type: "list_frame", frame: { type: "session", session } } as Parameters<typeof reduce>[1]);

  test("keeps a row in its place while its session works, and puts a new one first", () => {
    expect(ids(told(listed("two", { seq: 9, updatedAt: 99 })))).toEqual(["one", "two"]);
    expect(ids(told(listed("new")))).toEqual(["new", "one", "two"]);
  });

  test("leaves out what the filter does not let through, and sessions of sessions", () => {
    const filtered = reduce(state, { type: "list_filtered", filter: { status: "completed" } });
    expect(ids(told(listed("two", { status: "failed" }), filtered))).toEqual(["one"]);
    expect(ids(told(listed("new", { info: { agent: "a", model: "m", parent: {} } })))).toEqual(["one", "two"]);
  });

  test("folds child sessions under their parent, and keeps them up to date there", () => {
    const child = (sessionId: string, parent: string, more: object = {}) =>
      listed(sessionId, { info: { agent: "b", model: "m", parent: { sessionId: parent, callKey: "r/1/1" } }, ...more });
    const unfolded = reduce(state, {
      ...{ type: "unfolded", parent: "one", children: [child("c", "one")] },
    } as Parameters<typeof reduce>[1]);
    const depths = (from: AppState) => listRows(from.list).map(({ session, depth }) => `${depth} ${session.sessionId}`);
    expect(depths(unfolded)).toEqual(["0 one", "1 c", "0 two"]);
    const more = told(child("d", "one"), told(child("c", "one", { status: "failed" }), unfolded));
    expect(depths(more)).toEqual(["0 one", "1 c", "1 d", "0 two"]);
    expect(listRows(more.list)[1]?.session.status).toBe("failed");
    expect(depths(reduce(more, { type: "folded", parent: "one" }))).toEqual(["0 one", "0 two"]);
  });
});

describe("a URL", () => {
  const routes: readonly Route[] = [
    { screen: "sessions" },
    { screen: "approvals" },
    { screen: "approvals", sessionId: "s/1", callKey: "r/3/1" },
    { screen: "approvals", sessionId: "s/1", callKey: "r/3/1", questionId: "who/2" },
    { screen: "session", sessionId: "ein Name?#", tab: "step" },
    { screen: "session", sessionId: "s", step: "run/with/slashes/12", tab: "request" },
    { screen: "log", sessionId: "s", type: "final" },
  ];

  test.each(routes)("leads back to its screen: %o", (route) => {
    expect(parseRoute(formatFragment(route))).toEqual(route);
  });

  test.each(["", "#", "#/x", "#/sessions", "#/%E0%A4%A", "#start=x"])("that is none leads to the list: %s", (text) => {
    expect(parseRoute(text)).toEqual({ screen: "sessions" });
  });
});

describe("a call that waits", () => {
  const keysOf = (why: string) => listChoices({ why, input: {}, tool: null } as WaitingCall).map(({ key }) => key);

  test("has y and n for an approval only, and d, f and a for a call that was interrupted", () => {
    expect(keysOf("policy")).toEqual(["y", "n", "e"]);
    expect(keysOf("provider")).toEqual(["y", "n"]);
    expect(keysOf("recovery")).toEqual(["d", "f", "a"]);
    const [done, failed, again] = listChoices({
      why: "recovery",
      input: {},
      tool: null,
    } as unknown as WaitingCall);
    expect(done?.takes === "text" && done.decide("paid")).toEqual({ type: "result", output: "paid" });
    expect(failed?.takes === "text" && failed.decide("")).toEqual({ type: "fail" });
    expect(again?.takes === "nothing" && again.decide()).toEqual({ type: "rerun" });
  });

  test("of a tool's question is one field, unless the tool asks for an object", () => {
    const replyTo = (schema: unknown) => {
      const [reply] = listChoices({ why: "tool", input: {}, tool: null, schema } as WaitingCall);
      if (reply?.takes !== "value" || !("schema" in reply)) throw new Error("no reply");
      return { fields: toFormFields(reply.schema), decide: reply.decide };
    };
    const listed = replyTo({ type: "string", enum: ["red", "blue"] });
    expect(listed.fields).toEqual([
      { name: "answer", label: "Your answer", isRequired: true, about: null, kind: "choice", choices: ["red", "blue"] },
    ]);
    expect(listed.decide({ answer: "blue" })).toEqual({ type: "reply", value: "blue" });
    expect(replyTo({ type: "string" }).fields).toMatchObject([{ kind: "long" }]);
    const object = replyTo({ type: "object", properties: { account: { type: "string" } } });
    expect(object.fields).toMatchObject([{ name: "account" }]);
    expect(object.decide({ account: "7" })).toEqual({ type: "reply", value: { account: "7" } });
    expect(replyTo(undefined).fields).toBeNull();
  });
});

describe("an input that somebody approves", () => {
  test("is shown with everything that cannot be seen", () => {
    const pieces = splitHidden("rm -rf \u202e/tmp\u200b\nnext\u0007");
    expect(pieces.map(({ text }) => text)).toEqual(["rm -rf ", "\\u{202e}", "/tmp", "\\u{200b}", "\nnext", "\\x07"]);
    expect(countHidden(pieces)).toBe(3);
  });

  test("is a difference if it edits a file", () => {
    const edit = fileEditIn(editInput);
    expect(diffLines(edit?.before ?? "", edit?.after ?? "").map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "same one",
      "removed two",
      "added 2",
      "same three",
    ]);
    expect(fileEditIn({ oldText: "x" })).toBeNull();
    expect(fileEditIn({ old_string: "a", new_string: "b", path: "c" })).toMatchObject({
      fields: ["old_string", "new_string"],
    });
    expect(diffLines("", "a\n")).toEqual([{ kind: "added", text: "a" }]);
  });

  test("is edited in a form if its schema is flat, and only what changed changes", () => {
    const schema = {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1 },
        seconds: { type: "integer", minimum: 1 },
        dry: { type: "boolean" },
      },
      required: ["command"],
      additionalProperties: false,
    };
    const fields = toFormFields(schema) ?? [];
    const before = { command: "ls", seconds: 3 };
    const values = toFieldValues(fields, before);
    expect(toInput(fields, values, before)).toEqual(before);
    expect(toInput(fields, { ...values, seconds: "", dry: true }, before)).toEqual({ command: "ls", dry: true });
    expect(toFormFields({ type: "object", properties: { list: { type: "array" } } })).toBeNull();
    expect(toFormFields(schema, { command: 7 })).toBeNull();
    expect(parseAndCheck('{"command":"","x":1}', schema)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("command"),
    });
    expect(parseAndCheck('{"command":"ls","seconds":0}', schema)).toMatchObject({ ok: false });
    expect(parseAndCheck("{", schema)).toMatchObject({ ok: false, problem: expect.stringContaining("not JSON") });
    expect(parseAndCheck('{"command":"ls"}', schema)).toEqual({ ok: true, value: { command: "ls" } });
  });

  test("is edited in a form with groups and lists, whose other parts stay as they were", () => {
    const line = {
      type: "object",
      properties: { sku: { type: "string" }, gift: { type: "boolean" } },
      required: ["sku"],
    };
    const to = { type: "object", properties: { city: { type: "string" }, zip: { type: "string" } } };
    const schema = {
      type: "object",
      properties: { to, lines: { type: "array", items: line }, tags: { type: "array", items: { type: "string" } } },
      required: ["to", "lines"],
    };
    const before = { to: { city: "Ulm", floor: 2 }, lines: [{ sku: "a", gift: false }, { sku: "b" }], note: "x" };
    const fields = toFormFields(schema, before) ?? [];
    expect(fields.map(({ kind }) => kind)).toEqual(["group", "list", "list"]);
    const values = toFieldValues(fields, before);
    expect(toInput(fields, values, before)).toStrictEqual(before);
    const items = values.lines as readonly ListItem[];
    const [list] = fields.flatMap((field) => (field.kind === "list" ? [field.item] : []));
    const added = addItem(list as Field, items.slice(1));
    const written = added.map((item) =>
      item.before === undefined ? { ...item, value: { sku: "c", gift: true } } : item,
    );
    const changed = { ...values, to: { ...(values.to as object), zip: "89073" }, lines: written };
    expect(toInput(fields, changed as FieldValues, before)).toStrictEqual({
      ...before,
      to: { city: "Ulm", floor: 2, zip: "89073" },
      lines: [{ sku: "b" }, { sku: "c", gift: true }],
    });
    const deep = (levels: number): object =>
      levels === 0 ? { type: "string" } : { type: "object", properties: { in: deep(levels - 1) } };
    expect(toFormFields(deep(4))).not.toBeNull();
    expect(toFormFields(deep(40))).toBeNull();
    expect(toFormFields(schema, { to: [], lines: [] })).toBeNull();
  });
});

test("figures are short, and unknown is not zero", () => {
  expect([950, 1_200, 59_970, 250_000, 7_500_000].map(formatDuration)).toEqual([
    "950 ms",
    "1.2 s",
    "1 min",
    "4 min 10 s",
    "2 h 5 min",
  ]);
  expect([0, 999, 8_412, 120_400, 1_234_567].map(formatShortCount)).toEqual(["0", "999", "8.4k", "120k", "1.2M"]);
  expect([
    formatCount(8_412_000),
    formatCount(null),
    formatCost(undefined),
    formatCost(0),
    formatCost(1.824),
    formatCost(0.0024),
    formatCost(2, true),
  ]).toEqual([...["8,412,000", "–", "–", "$0.00", "$1.82", "$0.0024", "≥ $2.00"]]);
  expect([formatAge(0, 3_000), formatAge(0, 240_000), formatAge(0, 8 * 3_600_000)]).toEqual(["now", "4 min", "8 h"]);
});
