/**
 * Two and three processes of a server on one file: the holder killed and drained while it streams, the watcher's own
 * process killed, and every route on a process that does not hold the session (SRV-2, SRV-3).
 */
import { describe, expect, test } from "vitest";
import { createStreamView, type StreamFrame } from "../../src/server/client/index.js";
import { createToken } from "../../src/server/index.js";
import { verifies } from "../verifies.js";
import { createProcesses, type Processes, type ProcessOptions, type ServerProcess, words } from "./processes-rig.js";
import { pickLoggedEvents } from "./rig.js";

const livesIn = (frames: readonly StreamFrame[]) =>
  frames.flatMap(({ data }) => (data.type === "open" || data.type === "live" ? [data.live] : []));
const hasLive = (frames: readonly StreamFrame[], live: string, times: number) =>
  livesIn(frames).filter((one) => one === live).length >= times;
const typesIn = (frames: readonly StreamFrame[]) => frames.map(({ data }) => data.type);

/** What is shown when the model is about to say a word: the last one may be the beginning of a secret. */
const shownAt = (index: number) => words.slice(0, index - 1).join("");

async function begun(at: ServerProcess, input: string) {
  const { status, json } = await at.ask("POST", "/v1/sessions", { agent: "talker", input });
  expect(status).toBe(201);
  const { sessionId, runId } = json as { readonly sessionId: string; readonly runId: string };
  return {
    sessionId,
    runId,
    path: `/v1/sessions/${sessionId}`,
    stream: `/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`,
  };
}

/** The first of these processes whose model stands at a word. */
function whoStands(at: number, ...processes: readonly ServerProcess[]): Promise<ServerProcess> {
  return Promise.race(processes.map((one) => one.stands(at).then(() => one)));
}

async function expectWhole({ log }: Processes, sessionId: string, frames: readonly StreamFrame[]) {
  expect(pickLoggedEvents(frames)).toEqual(await log(sessionId));
}

describe("the process that holds a session, in the middle of a message", () => {
  test.each(["kill", "drain"] as const)(
    "can be stopped (%s): another one repeats the step, and the watcher of a third misses nothing",
    verifies("SRV-2#processes", "SRV-3"),
    async (how) => {
      const processes = await createProcesses();
      const [first, second, watching] = await Promise.all([
        processes.start({ stops: [20] }),
        processes.start({ stops: [20] }),
        processes.start({ work: false }),
      ]);
      const { sessionId, stream } = await begun(watching, "work");
      const watched = processes.watch([watching], stream);
      const holder = await whoStands(20, first, second);
      const other = holder === first ? second : first;
      await watched.until(() => watched.text().startsWith(shownAt(20)));
      await holder[how]();
      await watched.until((frames) => typesIn(frames).includes("restarted"));
      await other.stands(20);
      await watched.until((frames) => hasLive(frames, "peer", 2) && watched.text().startsWith(shownAt(20)));
      other.go();
      await watched.end;
      await expectWhole(processes, sessionId, watched.frames);
      const types = typesIn(watched.frames);
      const restarted = types.indexOf("restarted");
      // A watcher that comes before the first word gets deltas alone; one that comes later begins with a snapshot.
      for (const part of [types.slice(0, restarted), types.slice(restarted)])
        expect(part.some((type) => type === "delta" || type === "snapshot")).toBe(true);
      expect(livesIn(watched.frames)).toContain("none");
      expect(watched.frames.findLast(({ data }) => data.type === "final")?.data).toMatchObject({
        result: { status: "completed", text: words.join("").trim() },
      });
    },
  );

  test(
    "watched at the process that is to carry it on: deltas of the other, then its own",
    verifies("SRV-2#processes"),
    async () => {
      const processes = await createProcesses();
      const holder = await processes.start({ stops: [20] });
      const { sessionId, stream } = await begun(holder, "talk");
      await holder.stands(20);
      const other = await processes.start();
      const watched = processes.watch([other], stream);
      await watched.until(() => watched.text().startsWith(shownAt(20)));
      await holder.kill();
      await watched.end;
      await expectWhole(processes, sessionId, watched.frames);
      expect(livesIn(watched.frames).filter((live) => live !== "none")).toEqual(["peer", "here"]);
      expect(typesIn(watched.frames)).toContain("restarted");
    },
  );
});

test(
  "a watcher whose own process is killed goes on at another one, from its last event",
  verifies("SRV-2#processes"),
  async () => {
    const processes = await createProcesses();
    const holder = await processes.start({ stops: [20, 40] });
    const [first, second] = await Promise.all([processes.start({ work: false }), processes.start({ work: false })]);
    const { sessionId, stream } = await begun(first, "work");
    const watched = processes.watch([first, second], stream);
    await holder.stands(20);
    await watched.until(() => watched.text().startsWith(shownAt(20)));
    await first.kill();
    await watched.until((frames) => hasLive(frames, "peer", 2));
    holder.go();
    await holder.stands(40);
    await watched.until(() => watched.text().startsWith(shownAt(40)));
    holder.go();
    await watched.end;
    await expectWhole(processes, sessionId, watched.frames);
    const view = createStreamView();
    for (const frame of watched.frames) expect(view.apply(frame)).not.toBe("reconnect");
  },
);

describe("a process that does not hold a session", () => {
  test.each([
    ["a wrong address", { address: "http://127.0.0.1:1" }],
    ["an address that is not allowed", { address: "http://10.1.2.3:4111" }],
    ["a wrong secret", { peerSecret: createToken() }],
  ] as const satisfies readonly (readonly [string, ProcessOptions])[])(
    "tells its commits, and that it has no more, if the holder has %s",
    verifies("SRV-3"),
    async (_, options) => {
      const processes = await createProcesses();
      const holder = await processes.start({ stops: [20], ...options });
      const other = await processes.start({ work: false });
      const { sessionId, stream } = await begun(other, "work");
      const watched = processes.watch([other], stream);
      await holder.stands(20);
      await watched.until((frames) => typesIn(frames).includes("tool_result"));
      holder.go();
      await watched.end;
      await expectWhole(processes, sessionId, watched.frames);
      expect(new Set(livesIn(watched.frames))).toEqual(new Set(["none"]));
      expect(typesIn(watched.frames)).not.toContain("delta");
    },
  );

  test("takes an answer: the first of two counts, wherever it was given", verifies("SRV-2#processes"), async () => {
    const processes = await createProcesses();
    const all = await Promise.all([processes.start(), processes.start(), processes.start({ work: false })]);
    const [first, second, third] = all;
    const { sessionId, runId, path, stream } = await begun(third, "pay");
    const watched = processes.watch([third], stream);
    expect((await second.ask("GET", `${path}/runs/${runId}?wait=30`)).json).toMatchObject({ status: "awaiting_human" });
    const { approvals } = (await first.ask("GET", "/v1/approvals")).json;
    const { callKey, inputHash } = approvals[0];
    const answers = await Promise.all(
      all.map((one) => one.ask("POST", `${path}/answers`, { callKey, inputHash, decision: { type: "approve" } })),
    );
    expect(answers.map(({ json }) => json.counted).toSorted()).toEqual(["first", "second", "second"]);
    await watched.end;
    await expectWhole(processes, sessionId, watched.frames);
    for (const one of all)
      expect((await one.ask("GET", `${path}/runs/${runId}?wait=30`)).json).toMatchObject({ status: "completed" });
    expect(typesIn(watched.frames).filter((type) => type === "tool_result")).toHaveLength(1);
  });

  test("takes a request that others take, too, as one run", verifies("SRV-2#processes"), async () => {
    const processes = await createProcesses();
    const all = await Promise.all([processes.start(), processes.start(), processes.start({ work: false })]);
    const { sessionId, runId, path } = await begun(all[2], "talk");
    await all[0].ask("GET", `${path}/runs/${runId}?wait=30`);
    const sent = await Promise.all(
      all.map((one) => one.ask("POST", `${path}/runs`, { input: "work" }, { "idempotency-key": "mine" })),
    );
    expect(sent.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(sent.filter(({ json }) => json.isNew)).toHaveLength(1);
    for (const one of all)
      expect((await one.ask("GET", `${path}/runs/mine?wait=30`)).json).toMatchObject({ status: "completed" });
    const starts = (await processes.log(sessionId)).filter(({ type }) => type === "run_started");
    expect(starts).toHaveLength(2);
  });

  test("steers, aborts, forks and reads it", verifies("SRV-2#processes"), async () => {
    const processes = await createProcesses();
    const [holder, other] = await Promise.all([processes.start({ stops: [20] }), processes.start({ work: false })]);
    const { sessionId, runId, path, stream } = await begun(other, "work");
    const watched = processes.watch([other], stream);
    await holder.stands(20);
    expect((await other.ask("DELETE", path)).json).toMatchObject({ error: { code: "session_active" } });
    expect((await other.ask("POST", `${path}/steer`, { input: "talk" })).status).toBe(204);
    expect((await other.ask("GET", path)).json).toMatchObject({ status: "model_running", isHeld: true });
    expect((await other.ask("POST", `${path}/abort`, { runId, note: "Enough." })).json).toEqual({ outcome: "asked" });
    await watched.end;
    await expectWhole(processes, sessionId, watched.frames);
    expect((await other.ask("GET", `${path}/runs/${runId}?wait=30`)).json).toMatchObject({ status: "aborted" });
    for (const rest of ["/messages", "/events", "/trace", "/entries"])
      expect((await other.ask("GET", `${path}${rest}`)).status, rest).toBe(200);
    const { sessionId: copy } = (await other.ask("POST", `${path}/fork`, {})).json;
    expect((await holder.ask("GET", `/v1/sessions/${copy}`)).json).toMatchObject({ status: "aborted" });
    expect((await other.ask("DELETE", path)).status).toBe(204);
    expect((await holder.ask("GET", path)).status).toBe(404);
  });

  test("reads it as the holder does, by every route, in the middle of a message", verifies("SRV-3"), async () => {
    const processes = await createProcesses();
    const [holder, other] = await Promise.all([processes.start({ stops: [20] }), processes.start({ work: false })]);
    const { sessionId, runId, stream } = await begun(other, "work");
    const watched = processes.watch([other], stream);
    await holder.stands(20);
    const hash = await processes.store.putBlob(sessionId, new TextEncoder().encode("kept"));
    const { paths } = (await other.ask("GET", "/openapi.json")).json as { paths: Record<string, object> };
    // Reports of evals, schedules and the metadata of OAuth are not about a session.
    const others = /stream|live|chat|health|ready|metrics|proof|evals|schedules|well-known/;
    const reads = Object.keys(paths)
      .filter((path) => Object.hasOwn(paths[path] ?? {}, "get") && !others.test(path))
      .map((path) =>
        path
          .replace("{id}", sessionId)
          .replace("{runId}", runId)
          .replace("{index}", "1")
          .replace("{hash}", hash)
          .replace(/find$/, "find?q=nothing"),
      );
    expect(reads.length).toBeGreaterThanOrEqual(14);
    for (const path of reads) {
      const before = await holder.ask("GET", path);
      const there = await other.ask("GET", path);
      const after = await holder.ask("GET", path);
      expect([there.status, after.status], path).toEqual([before.status, before.status]);
      expect(there.status, path).toBeLessThan(300);
      expectBetween([before.json, after.json], there.json, path);
    }
    holder.go();
    await watched.end;
    await expectWhole(processes, sessionId, watched.frames);
  });
});

/** What the holder said before and after is what the other one said between, but for times that go on. */
function expectBetween([before, after]: readonly [unknown, unknown], there: unknown, path: string): void {
  if (typeof before === "number" && typeof after === "number" && before !== after) {
    expect(there, path).toBeGreaterThanOrEqual(before);
    expect(there, path).toBeLessThanOrEqual(after);
    return;
  }
  const parts = [before, after, there].map((one) =>
    typeof one === "object" && one !== null ? Object.entries(one) : null,
  );
  const [first, last, between] = parts;
  if (!first || !last || !between) {
    expect([after, there], path).toEqual([before, before]);
    return;
  }
  const namesOf = (entries: typeof first) => entries.map(([name]) => name);
  expect([namesOf(last), namesOf(between)], path).toEqual([namesOf(first), namesOf(first)]);
  for (const [index, [name, value]] of first.entries())
    expectBetween([value, last[index]?.[1]], between[index]?.[1], `${path} ${name}`);
}
