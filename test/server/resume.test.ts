/**
 * A watcher whose connection is cut anywhere loses nothing, is told nothing twice, and holds the same text (SRV-2).
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store, type StreamItem } from "../../src/index.js";
import {
  createStreamView,
  type FollowedFrame,
  followSession,
  type StreamFrame,
  type StreamView,
} from "../../src/server/client/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createDeferred, createEchoTool } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { collectFrames, pickLoggedEvents, withServer } from "./rig.js";

const words = Array.from({ length: 60 }, (_, index) => `word${index} `).join("");

/** Words that come one in a turn of the event loop, so that a connection can be cut between them. */
async function* slowly(text: string, halfway: () => Promise<void> = async () => {}) {
  yield { kind: "start" } as const;
  yield { kind: "text-start", id: "t" } as const;
  const all = text.split(/(?<= )/);
  for (const [index, word] of all.entries()) {
    await new Promise((resolve) => setImmediate(resolve));
    if (index === all.length >> 1) await halfway();
    yield { kind: "text-delta", id: "t", text: word } as const;
  }
  yield { kind: "text-end", id: "t" } as const;
}

/** @param halfway awaited in the middle of the last message */
function talker(store: Store, halfway?: () => Promise<void>) {
  const echo = createEchoTool();
  const done = { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
  const calls = { kind: "tool-call", id: "c", name: "echo", input: '{"a":1}' } as const;
  const failing = { kind: "error", failure: { kind: "network", message: "cut" } } as const;
  async function* step(text: string, ...rest: readonly object[]) {
    yield* slowly(text);
    yield* rest;
  }
  async function* lastStep() {
    yield* slowly(words, halfway);
    yield done;
  }
  const model = createScriptedModel([
    { deltas: step(words, calls, { ...done, finishReason: { unified: "tool-calls" } }) as never },
    { deltas: step(words.slice(0, 100), failing) as never },
    { deltas: lastStep() as never },
  ]);
  const retry = { baseDelayMs: 1, maxDelayMs: 1 };
  return createAgent({ name: "talker", store, model, tools: [echo.tool], retry });
}

/** A `fetch` whose connections are cut after so many bytes of the answer; when the list is used up, none is. */
function cuttingFetch(cuts: readonly number[]): typeof fetch {
  const left = [...cuts];
  return async (input, init) => {
    const cutAfter = left.shift() ?? Number.POSITIVE_INFINITY;
    const response = await fetch(input, init);
    let passed = 0;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const rest = cutAfter - passed;
        passed += chunk.byteLength;
        if (chunk.byteLength <= rest) return controller.enqueue(chunk);
        controller.enqueue(chunk.subarray(0, rest));
        controller.error(new Error("cut"));
      },
    });
    return new Response(response.body?.pipeThrough(cut), { status: response.status, headers: response.headers });
  };
}

/** Reads a stream to its end, and tells when some of the last message has come: as a snapshot, or in deltas. */
function joinLate(followed: AsyncIterable<FollowedFrame>) {
  const textArrived = createDeferred();
  async function read(): Promise<readonly StreamFrame[]> {
    const frames: StreamFrame[] = [];
    for await (const { frame, view } of followed) {
      frames.push(frame);
      if (view.partial()?.attempt === 2 && textIn(view) !== "") textArrived.resolve();
    }
    return frames;
  }
  return { frames: read(), textArrived: textArrived.promise };
}

const textIn = (view: StreamView) =>
  view
    .partial()
    ?.message.parts.map((part) => ("text" in part ? part.text : ""))
    .join("") ?? "";

describe.each(localStores)("a stream over HTTP, on $name", ({ open }) => {
  test(
    "that is cut at any bytes tells each event once, in order, and the text as it was said",
    verifies("SRV-2#one-process", "PROT-5"),
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12_000 }), { maxLength: 6 }), async (cuts) => {
          await withStore(open, (store) =>
            withServer({ store, agents: [talker(store)] }, async ({ url, token, ask }) => {
              const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
              const events: unknown[] = [];
              const followed = followSession({
                url: `${url}/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`,
                headers: { authorization: `Bearer ${token}` },
                fetch: cuttingFetch(cuts),
                retryMs: 1,
              });
              for await (const { frame, applied, view } of followed) {
                if (applied === "event") events.push(frame.data);
                expect(words.startsWith(textIn(view))).toBe(true);
              }
              const log = await collect(talker(store).session(sessionId).events({ follow: false }));
              expect(events).toEqual(JSON.parse(JSON.stringify(log)));
            }),
          );
        }),
        { numRuns: 15 },
      );
    },
  );

  test(
    "tells those who join late the message as far as it has come, and the rest",
    verifies("SRV-2#one-process", "STRM-6", "PROT-5"),
    async () => {
      const reached = createDeferred();
      const goOn = createDeferred();
      const halfway = () => {
        reached.resolve();
        return goOn.promise;
      };
      await withStore(open, (store) =>
        withServer({ store, agents: [talker(store, halfway)] }, async ({ ask, follow }) => {
          const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
          const path = `/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`;
          const first = collectFrames(follow(path));
          await reached.promise;
          const joined = Array.from({ length: 5 }, () => joinLate(follow(path)));
          for (const { textArrived } of joined) await textArrived;
          goOn.resolve();
          const whole = pickLoggedEvents(await first);
          for (const { frames: joining } of joined) {
            const frames = await joining;
            expect(pickLoggedEvents(frames)).toEqual(whole);
            const view = createStreamView();
            for (const frame of frames) {
              expect(view.apply(frame)).not.toBe("reconnect");
              expect(words.startsWith(textIn(view))).toBe(true);
            }
          }
        }),
      );
    },
  );

  test(
    "tells each word to whoever came before the session had begun",
    verifies("SRV-2#one-process", "STRM-6"),
    async () => {
      const taken = createDeferred();
      const said = { deltas: slowly(words) as never };
      await withStore(open, (inner) => {
        const store: Store = {
          ...inner,
          async claim(...given) {
            await taken.promise;
            return inner.claim(...given);
          },
        };
        const agent = createAgent({ name: "talker", store, model: createScriptedModel([said]) });
        return withServer({ store, agents: [agent] }, async ({ ask, follow }) => {
          const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
          const frames: StreamFrame[] = [];
          for await (const { frame } of follow(`/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`)) {
            frames.push(frame);
            if (frame.data.type === "open") setImmediate(taken.resolve);
          }
          expect(frames[0]?.data).toMatchObject({ type: "open", seq: 0, live: "here" });
          const texts = frames.flatMap(({ data }) =>
            data.type === "delta" && "text" in data.delta ? data.delta.text : [],
          );
          expect(texts.join("")).toBe(words);
        });
      });
    },
  );

  test("begins again if the place is beyond the log, and refuses what is no place", async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [] }, async ({ ask, follow }) => {
        const agent = createAgent({ store, model: createScriptedModel([{ text: "Done." }]) });
        await agent.run("Go", { sessionId: "s" });
        const log = await collect(agent.session("s").events({ follow: false }));
        const path = "/v1/sessions/s/stream?until=run";
        const frames = await collectFrames(follow(path, { after: "900.1" }));
        expect(frames.map(({ data }) => data.type)).toContain("reset");
        expect(pickLoggedEvents(frames)).toHaveLength(log.length);
        const third = log[2] as Extract<StreamItem, { readonly seq: number }>;
        const rest = await collectFrames(follow(path, { after: `${third.seq}.${third.index}` }));
        expect(pickLoggedEvents(rest)).toHaveLength(log.length - 3);
        const refused = await ask("GET", path, undefined, { "last-event-id": "never" });
        expect(refused).toMatchObject({ status: 400, json: { error: { code: "bad_cursor" } } });
      }),
    );
  });
});

test("that continues after an event of an ended run gets the rest of it, even from a server that has not read as far", async () => {
  const inner = createMemoryStore();
  // What another process commits is not reported, so the server does not read it for its watchers.
  const store: Store = { ...inner, watch: () => () => {} };
  await withServer({ store, agents: [] }, async ({ follow }) => {
    await talker(inner).run("Hello", { sessionId: "s", runId: "first" });
    const earlier = follow("/v1/sessions/s/stream");
    while ((await earlier.next()).value?.frame.data.type !== "final");

    const other = talker(inner);
    await other.run("Go", { sessionId: "s", runId: "second" });
    const log = await collect(other.session("s").events({ follow: false, runId: "second" }));
    const path = "/v1/sessions/s/stream?runId=second&until=run";
    for (const [index, event] of log.entries()) {
      if (!("seq" in event)) continue;
      const frames = await collectFrames(follow(path, { after: `${event.seq}.${event.index}` }));
      expect(pickLoggedEvents(frames)).toEqual(JSON.parse(JSON.stringify(log.slice(index + 1))));
    }
  });
});

test("that gets a page instead of a stream says so, and does not ask again", async () => {
  let asked = 0;
  const page = async () => {
    asked += 1;
    return new Response("<!doctype html>", { headers: { "content-type": "text/html; charset=utf-8" } });
  };
  const followed = followSession({ url: "https://agents.example.org/", fetch: page, retryMs: 1 });
  await expect(followed.next()).rejects.toMatchObject({
    name: "StreamRefused",
    status: 200,
    message: expect.stringContaining("not that of a stream: the response has status 200 and text/html"),
  });
  expect(asked).toBe(1);
});
