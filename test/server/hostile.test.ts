/**
 * What strangers may try: bodies that are too much, ids that are guessed, readers that do not read, secrets in streams.
 */
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type ModelDelta } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { collectFrames, type Rig, startTestServer, withServer } from "./rig.js";

function socketTo({ url }: Rig): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

const headOf = ({ url, token }: Rig, line: string, ...more: readonly string[]) =>
  [`${line} HTTP/1.1`, `Host: ${new URL(url).host}`, `Authorization: Bearer ${token}`, ...more, "", ""].join("\r\n");

describe("a body", () => {
  test(
    "with 100,000 keys, or nested deeply, is refused in time that grows with its length",
    verifies("SEC-4"),
    async () => {
      await withServer({}, async ({ ask }) => {
        const keys = (count: number) =>
          `{"agent":"a","input":"x",${Array.from({ length: count }, (_, index) => `"key${index}":1`).join(",")}}`;
        const send = (body: string) => ask("POST", "/v1/sessions", body, { "content-type": "application/json" });
        expect((await send(keys(50_000))).json.error).toMatchObject({
          code: "bad_input",
          message: expect.stringContaining("key0"),
        });
        expect((await send(keys(100_000))).status).toBe(413);
        const deep = (levels: number) => `{"agent":"a","input":${"[".repeat(levels)}${"]".repeat(levels)}}`;
        for (const levels of [64, 1_000, 400_000]) expect((await send(deep(levels))).json.error.code).toBe("bad_input");
        const objects = `${'{"a":'.repeat(100)}1${"}".repeat(100)}`;
        const options = { providerOptions: JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`) };
        expect((await send(`{"agent":"a","input":${objects}}`)).json.error.code).toBe("bad_input");
        expect((await ask("POST", "/v1/sessions", { agent: "a", input: "x", options })).status).toBeLessThan(500);
        const names = '{"agent":"a","input":"x","__proto__":{"admin":true},"constructor":1}';
        expect((await send(names)).json.error.code).toBe("bad_input");
        expect(({} as { admin?: unknown }).admin).toBeUndefined();
      });
    },
  );

  test("that never ends holds up nobody", verifies("SEC-4"), async () => {
    await withServer({}, async (rig) => {
      const slow = socketTo(rig);
      slow.write(headOf(rig, "POST /v1/sessions", "Content-Type: application/json", "Content-Length: 100"));
      slow.write("{");
      const headers = socketTo(rig);
      headers.write("GET /v1/sessions HTTP/1.1\r\nHost: ");
      for (let index = 0; index < 20; index += 1) expect((await rig.ask("GET", "/v1/sessions")).status).toBe(200);
    });
  });

  test("of headers beyond 16 KiB, or of half a request, is refused", verifies("SEC-4"), async () => {
    await withServer({}, async (rig) => {
      const answered = (text: string) =>
        new Promise<string>((resolve) => {
          const socket = socketTo(rig);
          let got = "";
          socket.on("data", (data) => {
            got += data.toString();
          });
          socket.on("close", () => resolve(got));
          socket.write(text);
        });
      expect(await answered(headOf(rig, "GET /v1/sessions", `X-Long: ${"x".repeat(20_000)}`))).toContain(" 431 ");
      expect(await answered("NONSENSE\r\n\r\n")).toContain(" 400 ");
      expect(await answered(headOf(rig, "GET //", "Connection: close"))).toMatch(/ 40[034] /);
      expect((await rig.ask("GET", "/v1/sessions")).status).toBe(200);
    });
  });
});

test("ids that are guessed find nothing, and look like ids that there are not", verifies("SEC-3#server"), async () => {
  await withServer({}, async ({ ask }) => {
    const ids = new Set<string>();
    for (let index = 0; index < 20; index += 1) {
      const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "a", input: "x" })).json;
      for (const id of [sessionId, runId]) {
        expect(id.length).toBeGreaterThanOrEqual(20);
        expect(ids.has(id)).toBe(false);
        ids.add(id);
      }
    }
    for (const id of ["1", "..", "%2e%2e", "%00", "a".repeat(600), "%f0%9f%98%80", "__proto__", "constructor"]) {
      const { status } = await ask("GET", `/v1/sessions/${id}`);
      expect(status, id).toBe(404);
    }
  });
});

describe("a secret in a stream", () => {
  const secret = `sk-ant-${"Zq7Rw2Lm9Xc4Vb6Nt8Yh3Kd5Pf1Gs0Ja".repeat(2)}`;
  const said = `The key is ${secret} and that is all.`;

  test("is not shown, wherever its text is cut into deltas", verifies("SEC-14"), async () => {
    const store = createMemoryStore();
    const start = said.indexOf(secret);
    const places = Array.from({ length: secret.length + 2 }, (_, index) => start - 1 + index);
    async function* cutAt(places: readonly number[]): AsyncGenerator<ModelDelta> {
      yield { kind: "text-start", id: "t" };
      let from = 0;
      for (const at of [...places, said.length]) {
        yield { kind: "text-delta", id: "t", text: said.slice(from, at) };
        await new Promise((resolve) => setImmediate(resolve));
        from = at;
      }
      yield { kind: "text-end", id: "t" };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    }
    const steps = [...places.map((at) => [at]), places].map((cuts) => ({ deltas: cutAt(cuts) as never }));
    const agent = createAgent({ name: "leaky", store, model: createScriptedModel(steps) });
    const { ask, follow } = await startTestServer({ store, agents: [agent], limits: { changesPerMinute: 1_000 } });
    const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "leaky", input: "Go." })).json;
    for (let index = 1; index < steps.length; index += 1)
      await ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "Go." }, { "idempotency-key": `run-${index}` });
    const last = `run-${steps.length - 1}`;
    const frames = await collectFrames(follow(`/v1/sessions/${sessionId}/stream?runId=${last}&until=run`));
    const all: string[] = [JSON.stringify(frames)];
    const whole = follow(`/v1/sessions/${sessionId}/stream?after=0`);
    for await (const { frame } of whole) {
      all.push(JSON.stringify(frame));
      if (frame.data.type === "final" && frame.data.runId === last) break;
    }
    for (const path of ["messages", "events?limit=500", "trace", "entries?limit=500", "steps"])
      all.push(JSON.stringify((await ask("GET", `/v1/sessions/${sessionId}/${path}`)).json));
    all.push(JSON.stringify((await ask("GET", `/v1/sessions/${sessionId}/requests/${last}/1`)).json));
    all.push(JSON.stringify((await ask("GET", `/v1/sessions/${sessionId}`)).json));
    const shown = all.join("\n");
    expect(shown).toContain("[redacted]");
    expect(shown).toContain("and that is all.");
    for (let at = 0; at + 12 <= secret.length; at += 1)
      if (at >= 7) expect(shown).not.toContain(secret.slice(at, at + 12));
  });

  test("is not shown in the whole of an output that was cut, or in other blobs", verifies("SEC-14"), async () => {
    const store = createMemoryStore();
    const read = defineTool({
      name: "read",
      description: "Reads.",
      input: { type: "object" },
      execute: () => `${"A line.\n".repeat(20_000)}${said}\n\ud800${"A line.\n".repeat(20_000)}`,
    });
    const model = createScriptedModel([{ calls: [{ name: "read", input: {} }] }, { text: "Done." }]);
    const agent = createAgent({ name: "leaky", store, model, tools: [read] });
    const { ask, url, token } = await startTestServer({ store, agents: [agent] });
    await agent.run("Go.", { sessionId: "s" });
    const { events } = (await ask("GET", "/v1/sessions/s/events?type=tool_result")).json;
    const blob = async (hash: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return Buffer.from(await (await fetch(`${url}/v1/sessions/s/blobs/${hash}`, { headers })).arrayBuffer());
    };
    const whole = (await blob(events[0].output.full.blob)).toString();
    expect(whole).toContain("The key is sk-ant-[redacted] and that is all.");
    expect(whole).not.toContain(secret);
    const picture = Buffer.concat([Buffer.of(0x89, 0, 0xff), Buffer.from(secret)]);
    expect(await blob(await store.putBlob("s", picture))).toEqual(picture);
  });

  test("is shown to whoever is asked to approve it, and to nobody else", verifies("SEC-6#shown"), async () => {
    const store = createMemoryStore();
    const send = defineTool({
      name: "send",
      description: "Sends.",
      input: { type: "object" },
      needsApproval: true,
      execute: () => "sent",
    });
    const model = createScriptedModel([{ calls: [{ name: "send", input: { secret } }] }, { text: "Done." }]);
    const agent = createAgent({ name: "leaky", store, model, tools: [send] });
    const { ask } = await startTestServer({ store, agents: [agent] });
    const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "leaky", input: "Go." })).json;
    await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=30`);
    expect((await ask("GET", "/v1/approvals")).json.approvals[0].input).toEqual({ secret });
    for (const path of ["", "/events", "/entries", "/trace", "/messages"])
      expect(JSON.stringify((await ask("GET", `/v1/sessions/${sessionId}${path}`)).json), path).not.toContain(secret);
  });
});
