/**
 * Sessions move between stores as text: all or nothing, and to the end although the process dies on the way.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  createWorker,
  exportSessions,
  importSessions,
  type Store,
} from "../../src/index.js";
import { createMessage, t0 } from "../../src/testing/conformance/bench.js";
import { createScriptedModel, createTestClock } from "../../src/testing/index.js";
import { createApprovalTool, createFamily, type Member, requireApprovals, waitUntil } from "../families/tree.js";
import { loadInto } from "../golden/recording.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { createSourceStore, exportToText, farFuture, getRecording, importText, splitBytes } from "./transfer.js";

describe.each(localStores)("an import into $name", ({ open }) => {
  test("gives what was exported: sessions, blobs, inboxes, and ids that are taken", verifies("STOR-2", "STOR-5"), () =>
    withStore(open, async (target) => {
      const source = await createSourceStore();
      const text = await exportToText(source);
      const sessions = await source.list();
      const entries = sessions.reduce((sum, { seq }) => sum + seq, 0);
      expect(await importText(target, text)).toEqual({ sessions: sessions.length, entries });
      expect(await exportToText(target)).toBe(text);
      expect(await target.list()).toEqual(await source.list());
      expect(await target.asking()).toEqual(await source.asking());
      expect([...(await target.due(farFuture, 100))].sort()).toEqual([...(await source.due(farFuture, 100))].sort());
      expect(await target.verify()).toEqual([]);
      for (const { sessionId } of sessions)
        for (const id of await source.messageIds(sessionId, { limit: 1_000 }))
          expect(await target.post(sessionId, createMessage(id))).toEqual({ type: "duplicate" });
    }),
  );

  test("is refused if a session exists, or belongs to another import", () =>
    withStore(open, async (target) => {
      const text = await exportToText(await createSourceStore());
      const ids = async () => (await target.list()).map(({ sessionId }) => sessionId);
      await target.post("only-posted", createMessage("mine"));
      const refusal = { code: "session_busy", message: expect.stringContaining("only-posted") };
      await expect(importText(target, text)).rejects.toMatchObject(refusal);
      expect(await ids()).toEqual(["only-posted"]);
      await target.delete("only-posted", { now: t0 });
      const cut: Store = { ...target, release: () => Promise.reject(new Error("the process was killed")) };
      await expect(importText(cut, text)).rejects.toThrow("killed");
      const other = await exportToText(await createOther());
      await expect(importText(target, other)).rejects.toMatchObject(refusal);
      await importText(target, text);
      await expect(importText(target, text)).rejects.toMatchObject({ code: "session_busy" });
    }));
});

async function createOther(): Promise<Store> {
  const store = createMemoryStore();
  await store.post("only-posted", createMessage("another"));
  return store;
}

describe("an export that is not as it was written", () => {
  const changes: { readonly [what: string]: readonly [change: (lines: string[]) => void, problem: RegExp] } = {
    "has no end": [(lines) => lines.pop(), /incomplete/],
    "has lost a line": [(lines) => lines.splice(lineOf(lines, /"seq":3,/), 1), /was expected here/],
    "has lost a session": [(lines) => lines.splice(1, nextSession(lines) - 1), /its checksum does not match/],
    "has an entry twice": [(lines) => lines.splice(5, 0, lines[lineOf(lines, /"seq":1,/)] ?? ""), /was expected here/],
    "has another text in an entry": [(lines) => edit(lines, /"text":"/, '"text":"!'), /its checksum does not match/],
    "has another state": [(lines) => edit(lines, /"type":"state".*"counters":\{"totalSteps":/, "$&9"), /leads/],
    "has an event that cannot follow": [
      (lines) => edit(lines, /"type":"run_finished"/, '"type":"restarted","holder":"x"'),
      /cannot follow|was expected here|leads/,
    ],
    "has an event without a field": [(lines) => edit(lines, /"contextSeq":/, '"context":'), /missing or invalid field/],
    "has a damaged blob": [(lines) => edit(lines, /"base64":"/, '"base64":"AAAA'), /does not match its hash/],
    "has lost a blob": [(lines) => lines.splice(lineOf(lines, /"type":"blob"/), 1), /does not come before it/],
    "has a message twice": [
      (lines) => lines.splice(lineOf(lines, /"type":"message"/), 0, lines[lineOf(lines, /"type":"message"/)] ?? ""),
      /appears twice/,
    ],
    "has a session twice": [
      (lines) => lines.splice(lines.length - 1, 0, lines[lineOf(lines, /"sessionId":"only-posted"/)] ?? ""),
      /appears twice/,
    ],
    "has something behind its end": [(lines) => lines.push("{}"), /after the end/],
    "has a line that is no JSON": [(lines) => lines.splice(2, 0, "{"), /JSON/],
    "has a key that changes objects": [(lines) => edit(lines, /"event":\{/, '"event":{"__proto__":{},'), /__proto__/],
    "has a line of another type": [(lines) => lines.splice(2, 0, '{"type":"other"}'), /type is unknown/],
    "has no head": [(lines) => lines.shift(), /--raw/],
    "has an id that cannot be": [(lines) => edit(lines, /"sessionId":"/, '"sessionId":"\\u0000'), /id/],
    "has a line without an end": [(lines) => lines.splice(2, 0, "x".repeat(4 * 1024 * 1024)), /longer than/],
    "is empty": [(lines) => lines.splice(0), /incomplete/],
  };
  const lineOf = (lines: readonly string[], pattern: RegExp) => {
    const at = lines.findIndex((line) => pattern.test(line));
    expect(at).toBeGreaterThan(0);
    return at;
  };
  const nextSession = (lines: readonly string[]) =>
    2 + lines.slice(2).findIndex((line) => line.startsWith('{"type":"session"'));
  const edit = (lines: string[], pattern: RegExp, by: string) => {
    const at = lineOf(lines, pattern);
    lines[at] = (lines[at] ?? "").replace(pattern, by);
  };

  test.each(Object.entries(changes))("%s: it is refused, and nothing is written", async (_, [change, problem]) => {
    const lines = (await exportToText(await createSourceStore())).trimEnd().split("\n");
    change(lines);
    const target = createMemoryStore();
    const error: unknown = await importText(target, lines.map((line) => `${line}\n`).join("")).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: "PawlError", code: "bad_input", message: expect.stringMatching(problem) });
    expect(await target.list()).toEqual([]);
  });

  test("is of a later version: it is refused as such", async () => {
    const text = await exportToText(await createSourceStore());
    const changes = { '"version":1': '"version":2', '"format":3': '"format":4', '"type":"prepared"': '"type":"new"' };
    for (const later of Object.entries(changes).map(([from, to]) => text.replace(from, to)))
      await expect(importText(createMemoryStore(), later)).rejects.toMatchObject({ code: "newer_format" });
  });

  test("changes while it is imported: nobody is given what was written", async () => {
    const texts = [await exportToText(await createSourceStore()), await exportToText(await createOther())];
    const target = createMemoryStore();
    const importing = importSessions(target, { read: () => splitBytes(texts.shift() ?? "") });
    await expect(importing).rejects.toMatchObject({ code: "bad_input" });
    expect(await target.due(farFuture, 100)).toEqual([]);
  });
});

describe("an export", () => {
  test("takes the sessions along that a session has started, and refuses one of these alone", async () => {
    const source = await createSourceStore();
    const parent = (await source.list()).find(({ info }) => info?.parent !== undefined)?.info?.parent?.sessionId ?? "";
    const children = (await source.list({ parent })).map(({ sessionId }) => sessionId);
    const target = createMemoryStore();
    await importText(target, await exportToText(source, [parent]));
    expect((await target.list()).map(({ sessionId }) => sessionId).sort()).toEqual([parent, ...children].sort());
    await expect(exportToText(source, children)).rejects.toMatchObject({
      code: "bad_input",
      message: expect.stringContaining(`Export ${parent}`),
    });
    await expect(exportToText(source, ["nobody"])).rejects.toMatchObject({ code: "no_session" });
    await source.delete(parent, { now: farFuture, force: true });
    expect(await exportToText(source, children)).toContain('"type":"end","sessions":1');
  });

  test("fails if a session runs, or changes on the way", async () => {
    const store = createMemoryStore();
    let go: () => void = () => {};
    const model = createScriptedModel(() => ({ text: "Done." }));
    const begun = new Promise<void>((resolve) => {
      const hold = new Promise<void>((open) => {
        go = open;
      });
      const beforeLLMCall = async () => {
        resolve();
        await hold;
      };
      void createAgent({ model, store, hooks: [{ name: "hold", beforeLLMCall }] }).run("Go", { sessionId: "s" });
    });
    await begun;
    await expect(exportToText(store)).rejects.toMatchObject({
      code: "session_busy",
      message: expect.stringContaining("running"),
    });
    go();

    const source = await createSourceStore();
    const changing: Store = {
      ...source,
      async inbox(sessionId) {
        const claimed = await source.claim(sessionId, {
          holder: { id: "h", host: "h", pid: 1, startedAt: 1 },
          now: farFuture,
          leaseMs: 1,
        });
        const last = await source.load(sessionId);
        if (claimed.type === "claimed" && last !== null) {
          const event = { type: "steered", source: "user", input: [], at: t0 } as const;
          const state = { ...last.state, seq: last.seq + 1 };
          const row = {
            expectedSeq: last.seq,
            events: [event],
            state,
            at: t0,
            activity: "resting",
            dueAt: null,
            askedAt: null,
          } as const;
          await source.commit(claimed.lease, row);
        }
        return source.inbox(sessionId);
      },
    };
    await expect(exportToText(changing)).rejects.toMatchObject({
      code: "session_busy",
      message: expect.stringContaining("changed"),
    });
  });

  test("ends if a delayed message is posted while its session is written", verifies("TIME-3"), async () => {
    const clock = createTestClock(t0);
    const inner = createMemoryStore();
    const agent = createAgent({
      name: "agent",
      model: createScriptedModel(() => ({ text: "Done." })),
      store: inner,
      clock,
    });
    await agent.run("Go.", { sessionId: "s" });
    await agent.session("s").send("Remember.", { afterMs: 1_000, runId: "later" });
    await agent.shutdown();
    const store: Store = {
      ...inner,
      async inbox(sessionId) {
        const messages = await inner.inbox(sessionId);
        await clock.advance(1_000);
        await createWorker({ store: inner, agents: [], clock }).runUntilIdle();
        return messages;
      },
    };
    await expect(exportToText(store)).rejects.toMatchObject({ code: "session_busy" });
    const copy = createMemoryStore();
    await importText(copy, await exportToText(inner));
    expect(await copy.inbox("s")).toMatchObject([{ id: "run/later" }]);
  });

  test("ends if a child ends after its parent was written", async () => {
    const inner = createMemoryStore();
    const family: Member = { name: "boss", members: [{ name: "worker", tools: [createApprovalTool("pay")] }] };
    const agent = createFamily(family, { store: inner });
    const [approval] = requireApprovals(await agent.run("Go.", { sessionId: "p" }));
    await agent.shutdown({ graceMs: 0 });
    const [child] = await inner.list({ parent: "p" });
    // A process that has only the child's agent: the report stays in the parent's inbox.
    const worker = createFamily({ name: "worker", tools: [createApprovalTool("pay")] }, { store: inner });
    let isEnded = false;
    const store: Store = {
      ...inner,
      async describe(id) {
        const summary = await inner.describe(id);
        if (id === "p" && !isEnded && hasWrittenParent) {
          isEnded = true;
          await worker.session(child?.sessionId ?? "").answer(approval?.callKey ?? "", { type: "approve" });
          await worker.session(child?.sessionId ?? "").resume();
          await waitUntil(async () => (await inner.describe(child?.sessionId ?? ""))?.holder === null);
        }
        return summary;
      },
    };
    let hasWrittenParent = false;
    const lines = async () => {
      for await (const line of exportSessions(store, { sessionIds: ["p"] }))
        hasWrittenParent ||= line.startsWith('{"type":"state"');
    };
    await expect(lines()).rejects.toMatchObject({
      code: "session_busy",
      message: expect.stringContaining("Session p "),
    });
    expect(isEnded).toBe(true);
    await worker.shutdown({ graceMs: 0 });
  });

  test("is text that a terminal takes, in lines of a bounded length, with large blobs in parts", async () => {
    const source = createMemoryStore();
    await loadInto(source, getRecording("steering"));
    await source.post("s2", createMessage("m", t0, "\u009b31m \u202e \u2028"));
    const history = JSON.stringify([{ role: "user", parts: [{ type: "text", text: "a".repeat(900_000) }] }]);
    const hash = await source.putBlob("s2", Buffer.from(history));
    const session = { agent: "a", model: "m" };
    await source.post("s2", {
      id: "h",
      at: t0,
      body: { type: "history", session, history: { source: "pawl", parts: [hash] } },
    });
    const text = await exportToText(source);
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\p{Zl}/u);
    const lines = text.split("\n");
    expect(lines.filter((line) => line.includes(hash) && line.startsWith('{"type":"blob"'))).toHaveLength(3);
    const target = createMemoryStore();
    await importText(target, text);
    expect(Buffer.from((await target.getBlob("s2", hash)) ?? []).toString()).toBe(history);
    expect(await exportToText(target)).toBe(text);
  });

  test("and an import end when their signal says so", async () => {
    const source = await createSourceStore();
    const over = AbortSignal.abort();
    const all = async () => {
      for await (const _ of exportSessions(source, { signal: over }));
    };
    await expect(all()).rejects.toMatchObject({ name: "AbortError" });
    const target = createMemoryStore();
    const text = await exportToText(source);
    const importing = importSessions(target, { read: () => splitBytes(text), signal: over });
    await expect(importing).rejects.toMatchObject({ name: "AbortError" });
    expect(await target.list()).toEqual([]);
  });
});
