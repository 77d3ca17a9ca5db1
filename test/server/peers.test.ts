/**
 * A server streams what another one holds: events from the store, live items from the other (SRV-3, SEC-19).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import {
  createStreamView,
  type FollowedFrame,
  type PartialMessage,
  type StreamFrame,
} from "../../src/server/client/index.js";
import { createServer, createToken, type LogLine } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createDeferred, createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type PeerRig, type PeerRigOptions, secret, startPeer, token } from "./peers-rig.js";
import { pickLoggedEvents } from "./rig.js";

const words = Array.from({ length: 40 }, (_, index) => `word${index} `);

/** What is shown when the model is about to say a word: the last one may be the beginning of a secret. */
const shownAt = (index: number) => words.slice(0, index - 1).join("");

/** Says the words, and waits at some of them until the test lets it go on. */
function createTalker(store: Store, stopsAt: readonly number[]) {
  const stops = new Map(stopsAt.map((at) => [at, { reached: createDeferred(), go: createDeferred() }]));
  const done = { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
  async function* talk() {
    yield { kind: "start" } as const;
    yield { kind: "text-start", id: "t" } as const;
    for (const [index, text] of words.entries()) {
      const stop = stops.get(index);
      stop?.reached.resolve();
      await stop?.go.promise;
      yield { kind: "text-delta", id: "t", text } as const;
    }
    yield { kind: "text-end", id: "t" } as const;
    yield done;
  }
  const echo = createEchoTool();
  const model = createScriptedModel([
    { text: "First, I look. ", calls: [{ name: "echo" }] },
    { deltas: talk() as never },
  ]);
  const agent = createAgent({ name: "talker", store, model, tools: [echo.tool] });
  const reached = (at: number) => stops.get(at)?.reached.promise;
  const go = (at: number) => stops.get(at)?.go.resolve();
  return { agent, reached, go };
}

const spoken = ({ view }: FollowedFrame) =>
  view
    .partial()
    ?.message.parts.map((part) => ("text" in part ? part.text : ""))
    .join("") ?? "";

type Watched = {
  readonly frames: StreamFrame[];
  readonly said: (text: string) => Promise<void>;
  readonly end: Promise<void>;
};

/** Watches a run to its end. `said` resolves when the watcher holds this much of the message that is being streamed. */
function watch(rig: PeerRig, path: string): Watched {
  const frames: StreamFrame[] = [];
  const waiting: { readonly text: string; readonly resolve: () => void }[] = [];
  let held = "";
  const read = async () => {
    for await (const followed of rig.follow(path)) {
      frames.push(followed.frame);
      held = spoken(followed);
      expect(followed.applied).not.toBe("reconnect");
      for (const { text, resolve } of waiting) if (held.startsWith(text)) resolve();
    }
  };
  return {
    frames,
    said: (text) =>
      new Promise((resolve) => {
        if (held.startsWith(text)) resolve();
        else waiting.push({ text, resolve });
      }),
    end: read(),
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const livesIn = (frames: readonly StreamFrame[]) =>
  frames.flatMap(({ data }) => (data.type === "open" || data.type === "live" ? [data.live] : []));
const countOf = (frames: readonly StreamFrame[], type: string) =>
  frames.filter(({ data }) => data.type === type).length;

/** One server holds the session, in the middle of its second message; the other one has no agents. */
async function twoServers(options: Partial<PeerRigOptions> = {}, holding: Partial<PeerRigOptions> = {}) {
  const store = createMemoryStore();
  const talker = createTalker(store, [10, 30]);
  const holder = await startPeer({ store, agents: [talker.agent], ...holding });
  const other = await startPeer({ store, ...options });
  const { sessionId, runId } = (await other.ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
  await talker.reached(10);
  const path = `/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`;
  const log = async () =>
    JSON.parse(JSON.stringify(await collect(talker.agent.session(sessionId).events({ follow: false }))));
  return { store, talker, holder, other, sessionId, runId, path, log };
}

/** What any watcher must have seen, wherever it watched. */
function expectWhole(frames: readonly StreamFrame[], log: readonly unknown[]) {
  expect(pickLoggedEvents(frames)).toEqual(log);
  const view = createStreamView();
  for (const frame of frames) expect(view.apply(frame)).not.toBe("reconnect");
}

describe("a session that another server holds", () => {
  test(
    "is streamed with its deltas over one link, however many watch",
    verifies("SRV-3", "SRV-2#processes"),
    async () => {
      const { talker, holder, other, sessionId, path, log } = await twoServers();
      const watched = [watch(other, path), watch(other, path)];
      for (const { said } of watched) await said(shownAt(10));
      const late = watch(other, path);
      await late.said(shownAt(10));
      talker.go(10);
      for (const { said } of [...watched, late]) await said(shownAt(30));
      talker.go(30);
      for (const { end } of [...watched, late]) await end;
      const events = await log();
      for (const { frames } of [...watched, late]) {
        expectWhole(frames, events);
        expect(livesIn(frames)).toContain("peer");
        expect(countOf(frames, "snapshot")).toBeGreaterThan(0);
        expect(countOf(frames, "delta")).toBeGreaterThan(0);
        const lastDelta = frames.findLastIndex(({ data }) => data.type === "delta");
        expect(frames.findIndex(({ data }) => data.type === "final")).toBeGreaterThan(lastDelta);
      }
      expect(holder.requestedSessions).toEqual([sessionId]);
      expect(other.requestedSessions).toEqual([]);
    },
  );

  test("is streamed over a Unix socket, and by a watcher that was there before the run", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-peers-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = createMemoryStore();
    const talker = createTalker(store, [20]);
    const other = await startPeer({ store });
    const { sessionId, runId } = (await other.ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
    const early = watch(other, `/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`);
    const holder = await startPeer({ store, agents: [talker.agent], socket: join(folder, "s") });
    await early.said(shownAt(20));
    talker.go(20);
    await early.end;
    expectWhole(
      early.frames,
      JSON.parse(JSON.stringify(await collect(talker.agent.session(sessionId).events({ follow: false })))),
    );
    expect(livesIn(early.frames).slice(0, 2)).toEqual(["none", "peer"]);
    expect(holder.requestedSessions).toEqual([sessionId]);
  });

  test(
    "is streamed with its deltas if it is claimed while the right to read it is checked",
    verifies("SRV-3"),
    async () => {
      const store = createMemoryStore();
      const talker = createTalker(store, [10]);
      const asked = createDeferred();
      const checked = createDeferred();
      const may = async (_: unknown, action: string) => {
        if (action !== "read") return true;
        asked.resolve();
        await checked.promise;
        return true;
      };
      const other = await startPeer({ store, may });
      const { sessionId, runId } = (await other.ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
      const watched = watch(other, `/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`);
      await asked.promise;
      await startPeer({ store, agents: [talker.agent] });
      await talker.reached(10);
      checked.resolve();
      await watched.said(shownAt(10));
      talker.go(10);
      await watched.end;
    },
  );

  test("goes on with a snapshot after the link was cut", verifies("SRV-3"), async () => {
    const { talker, holder, other, path, log } = await twoServers();
    const watched = watch(other, path);
    await watched.said(shownAt(10));
    holder.breakConnections();
    await until(() => livesIn(watched.frames).filter((live) => live === "peer").length === 2);
    talker.go(10);
    await watched.said(shownAt(30));
    talker.go(30);
    await watched.end;
    expectWhole(watched.frames, await log());
    expect(livesIn(watched.frames).slice(0, 4)).toEqual(["none", "peer", "none", "peer"]);
    expect(holder.requestedSessions).toHaveLength(2);
  });

  test.each([
    ["a wrong secret", { secret: createToken() }, {}, 1, ["The process responded with status 401."]],
    [
      "an address that is not allowed",
      { allow: ["http://10.0.0.*:4111"] },
      {},
      0,
      ["peers.allow does not match this address."],
    ],
    ["an address where nothing listens", {}, { address: "http://127.0.0.1:1" }, 0, ["bad port"]],
    ["no address", {}, { address: undefined }, 0, []],
  ] as const)("is streamed by its commits with %s, and says so", async (_, peers, holding, most, reasons) => {
    const lines: LogLine[] = [];
    const { talker, holder, other, path, log } = await twoServers(
      { peers, log: (line) => void lines.push(line) },
      { peers: holding as { address: string } },
    );
    const watched = watch(other, path);
    const failures = () => lines.filter(({ action }) => action === "peer");
    await until(() => countOf(watched.frames, "tool_result") > 0 && failures().length >= reasons.length);
    talker.go(10);
    talker.go(30);
    await watched.end;
    expectWhole(watched.frames, await log());
    expect(new Set(livesIn(watched.frames))).toEqual(new Set(["none"]));
    expect(countOf(watched.frames, "delta")).toBe(0);
    expect(Math.min(1, holder.requestedSessions.length)).toBe(most);
    expect(failures().map(({ error }) => String(error))).toEqual(
      reasons.map((reason) => expect.stringMatching(new RegExp(`"http://.*" cannot be reached, .*: ${reason}$`))),
    );
  });
});

describe("a session with children that another server holds", () => {
  /** A parent asks a child, which talks, and both are held by one server; the other one has the agents and does not work. */
  async function family() {
    const store = createMemoryStore();
    const end = createDeferred();
    async function* ending() {
      yield { kind: "text-start", id: "t" } as const;
      for (const text of ["It ", "has ", "talked ", "long "]) yield { kind: "text-delta", id: "t", text } as const;
      await end.promise;
      yield { kind: "text-delta", id: "t", text: "enough." } as const;
      yield { kind: "text-end", id: "t" } as const;
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
    }
    const make = (stopsAt: readonly number[]) => {
      const talker = createTalker(store, stopsAt);
      const model = createScriptedModel([
        { text: "I ask. ", calls: [{ name: "ask", input: { task: "Talk." } }] },
        { deltas: ending() as never },
      ]);
      const ask = talker.agent.asTool({ name: "ask", description: "Asks." });
      return { ...talker, parent: createAgent({ name: "parent", store, model, tools: [ask] }) };
    };
    const held = make([10, 30]);
    const holder = await startPeer({ store, agents: [held.parent] });
    const other = await startPeer({ store, agents: [make([]).parent], work: false });
    const { sessionId, runId } = (await other.ask("POST", "/v1/sessions", { agent: "parent", input: "Go" })).json;
    await held.reached(10);
    const log = async () =>
      JSON.parse(
        JSON.stringify(await collect(held.parent.session(sessionId).events({ follow: false, children: true }))),
      );
    return { store, held, holder, other, sessionId, runId, log, end: end.resolve };
  }

  /** Follows to the end of the run. `said` resolves when the session has said this much of the message under way. */
  function watchFamily(rig: PeerRig, path: string, runId: string) {
    const frames: StreamFrame[] = [];
    const lives: unknown[] = [];
    const waiting: { readonly sessionId: string; readonly text: string; readonly resolve: () => void }[] = [];
    const read = async () => {
      for await (const { frame, applied, view } of rig.follow(path)) {
        frames.push(frame);
        expect(applied).not.toBe("reconnect");
        if ("live" in frame.data) lives.push(frame.data.live);
        for (const { sessionId, text, resolve } of waiting)
          if (textOf(view.partialOf(sessionId)).startsWith(text)) resolve();
        if (frame.data.type === "final" && frame.data.runId === runId) return;
      }
    };
    return {
      frames,
      lives,
      said: (sessionId: string, text: string) =>
        new Promise<void>((resolve) => {
          waiting.push({ sessionId, text, resolve });
        }),
      end: read(),
    };
  }

  const textOf = (partial: PartialMessage | null) =>
    partial?.message.parts.map((part) => ("text" in part ? part.text : "")).join("") ?? "";
  const childOf = async (store: Store, sessionId: string) => {
    const [child] = await store.list({ parent: sessionId });
    return child?.sessionId ?? "";
  };

  test("is streamed whole, with the deltas of the child", verifies("SRV-3", "SRV-2#processes"), async () => {
    const { store, held, holder, other, sessionId, runId, log, end } = await family();
    const child = await childOf(store, sessionId);
    const watched = watchFamily(other, `/v1/sessions/${sessionId}/stream?children=1`, runId);
    await watched.said(child, shownAt(10));
    held.go(10);
    await watched.said(child, shownAt(30));
    held.go(30);
    await watched.said(sessionId, "It has ");
    end();
    await watched.end;
    expect(watched.frames.filter(({ id }) => id !== undefined).map(({ data }) => data)).toEqual(await log());
    expect(watched.lives).toContain("peer");
    const childs = watched.frames.filter(({ data }) => "sessionId" in data && data.sessionId === child);
    expect(childs.some(({ data }) => data.type === "delta")).toBe(true);
    // A session that waits for its child is held by nobody, so its holder is asked later.
    expect(holder.requestedSessions).toEqual([child, sessionId]);
  });

  test("goes on at the same place after a cut, and streams a child alone", verifies("SRV-3"), async () => {
    const { store, held, holder, other, sessionId, runId, log, end } = await family();
    const child = await childOf(store, sessionId);
    const watched = watchFamily(other, `/v1/sessions/${sessionId}/stream?children=1`, runId);
    const alone = watch(other, `/v1/sessions/${child}/stream?until=run`);
    await watched.said(child, shownAt(10));
    await alone.said(shownAt(10));
    other.breakConnections();
    const again = watched.said(child, shownAt(30));
    holder.breakConnections();
    held.go(10);
    await again;
    await alone.said(shownAt(30));
    held.go(30);
    end();
    await watched.end;
    await alone.end;
    expect(watched.frames.filter(({ id }) => id !== undefined).map(({ data }) => data)).toEqual(await log());
    expect(livesIn(alone.frames)).toContain("peer");
    expect(pickLoggedEvents(alone.frames).at(-1)).toMatchObject({ type: "final" });
  });

  test("a child is streamed alone by its holder, too", async () => {
    const { store, held, holder, sessionId } = await family();
    const child = await childOf(store, sessionId);
    const alone = watch(holder, `/v1/sessions/${child}/stream?until=run`);
    await alone.said(shownAt(10));
    held.go(10);
    held.go(30);
    await alone.end;
    expect(livesIn(alone.frames)).toEqual(["here"]);
    expect(countOf(alone.frames, "delta")).toBeGreaterThan(0);
  });
});

describe("what processes tell each other", () => {
  test("is told to nobody without the secret", verifies("SEC-19#processes"), async () => {
    const { talker, holder, other, sessionId } = await twoServers();
    const mac = "0".repeat(64);
    for (const authorization of [
      "",
      `Bearer ${token}`,
      `Bearer ${secret}`,
      `Pawl-Peer ${Date.now()}.${mac}`,
      "Pawl-Peer x",
    ])
      for (const rig of [holder, other]) {
        const refused = await rig.ask("GET", `/v1/live/${sessionId}`, undefined, { authorization });
        expect(refused.status, authorization).toBe(401);
        expect(JSON.stringify(refused.json)).not.toContain(secret);
      }
    talker.go(10);
    talker.go(30);
  });

  test("needs a secret and addresses that are written in one way", verifies("SEC-19#processes"), () => {
    const store = createMemoryStore();
    const make = (peers: object) => () => createServer({ store, agents: [], token, peers: peers as never });
    const refused = expect.objectContaining({ code: "bad_configuration" });
    const allow = ["http://10.0.0.5:4111"];
    expect(make({ secret, allow })).not.toThrow();
    expect(make({ secret, allow, address: "https://pawl.internal/base" })).not.toThrow();
    for (const wrong of [{ allow }, { secret: "short", allow }, { secret }, { secret, allow, unknwn: 1 }])
      expect(make(wrong)).toThrow(refused);
    const addresses = [
      "10.0.0.5:4111",
      "http://10.0.0.5:4111/",
      "http://A:1",
      "ftp://a",
      "http://u:p@a",
      "http://a?x",
      "unix:x",
    ];
    for (const address of addresses) expect(make({ secret, allow, address }), address).toThrow(refused);
    for (const address of ["x", "ftp://a", "unix:x"])
      expect(() => createAgent({ model: createScriptedModel([]), address }), address).toThrow(refused);
  });
});
