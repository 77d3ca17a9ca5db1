/**
 * `pawl serve` in several processes on one store: a run that is begun in one is watched live there while another one carries
 * it out, reached over its Unix socket; and it goes on in a third when that one is told to leave.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createStreamView, followSession, type StreamFrame } from "../../src/server/client/index.js";
import { createToken } from "../../src/server/index.js";
import { verifies } from "../verifies.js";
import { createWorld } from "./pawl.js";

/** An agent that says a few words, and then waits until there is a file. */
const moduleText = (dist: string, gate: string) => `
  import { existsSync } from "node:fs";
  import { createAgent } from ${JSON.stringify(`${dist}/index.js`)};
  import { openSqliteStore } from ${JSON.stringify(`${dist}/stores/sqlite/index.js`)};
  const store = await openSqliteStore({ path: ${JSON.stringify(`${gate}.db`)} });
  const model = { id: "slow", async *stream(_, signal) {
    yield { kind: "text-start", id: "t" };
    for (let index = 0; index < 20; index += 1) yield { kind: "text-delta", id: "t", text: "word" + index + " " };
    while (!existsSync(${JSON.stringify(gate)})) {
      if (signal.aborted) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    yield { kind: "text-delta", id: "t", text: "and the end." };
    yield { kind: "text-end", id: "t" };
    yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
  } };
  export default createAgent({ name: "talker", store, model, retry: { baseDelayMs: 1 } });`;

const beginning = Array.from({ length: 19 }, (_, index) => `word${index} `).join("");

function createServers() {
  const world = createWorld({ "token.txt": createToken(), "peer-secret.txt": createToken() });
  const gate = join(world.root, "gate");
  writeFileSync(join(world.root, "talker.mjs"), moduleText(new URL("../../dist", import.meta.url).href, gate));
  const socketOf = (name: string) => join(world.root, `${name}.sock`);
  const start = (args: readonly string[]) => {
    const shared = ["--token-file", "token.txt", "--peer-secret-file", "peer-secret.txt"];
    const peers = ["--peers", `unix:${socketOf("one")},unix:${socketOf("two")}`];
    return world.start(["serve", "talker.mjs", ...shared, ...peers, ...args]);
  };
  return {
    world,
    openGate: () => writeFileSync(gate, ""),
    socketOf,
    /** Carries runs out, and is reached over its socket only. */
    async startWorking(name: string) {
      const running = start(["--socket", socketOf(name), "--peer-address", `unix:${socketOf(name)}`]);
      await running.said(`Pawl listens on unix:${socketOf(name)}`);
      await running.said("Runs of talker are executed here.");
      expect(statSync(socketOf(name)).mode & 0o777).toBe(0o600);
      return running;
    },
    /** Reads and posts. */
    async startReading() {
      const running = start(["--port", "0", "--no-work"]);
      let said = "";
      running.child.stderr?.on("data", (text: string) => {
        said += text;
      });
      await running.said("Runs are executed elsewhere.");
      return { running, url: /listens on (http:\S+)/.exec(said)?.[1] ?? "" };
    },
  };
}

/** Follows a run, and tells when it is as a test wants it. */
function follow(url: string, headers: Readonly<Record<string, string>>) {
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const frames: StreamFrame[] = [];
  let view = createStreamView();
  const waiting = new Set<() => void>();
  const read = async () => {
    for await (const one of followSession({ url, headers, signal: left.signal, retryMs: 50 })) {
      frames.push(one.frame);
      view = one.view;
      for (const look of [...waiting]) look();
    }
  };
  const text = () =>
    view
      .partial()
      ?.message.parts.map((part) => ("text" in part ? part.text : ""))
      .join("") ?? "";
  return {
    frames,
    text,
    until: (isSo: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!isSo()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    end: read(),
  };
}

const livesIn = (frames: readonly StreamFrame[]) =>
  frames.flatMap(({ data }) => (data.type === "open" || data.type === "live" ? [data.live] : []));

test(
  "a run is begun and watched live in one process, carried out in another, and goes on in a third",
  verifies("SRV-3", "SRV-5", "SRV-7", "SEC-1#binding"),
  async () => {
    const servers = createServers();
    const [{ running: reading, url }, one] = await Promise.all([servers.startReading(), servers.startWorking("one")]);
    const token = readFileSync(join(servers.world.root, "token.txt"), "utf8").trim();
    const headers = { authorization: `Bearer ${token}` };
    const begun = await fetch(`${url}/v1/sessions`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ agent: "talker", input: "Go." }),
    });
    expect(begun.status).toBe(201);
    const { sessionId, runId } = (await begun.json()) as { readonly sessionId: string; readonly runId: string };
    const watched = follow(`${url}/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`, headers);
    await watched.until(() => watched.text().startsWith(beginning));
    expect(livesIn(watched.frames)).toContain("peer");

    one.kill("SIGTERM");
    expect((await one.ended).code).toBe(0);
    expect(existsSync(servers.socketOf("one"))).toBe(false);
    const before = livesIn(watched.frames).filter((live) => live === "peer").length;
    const two = await servers.startWorking("two");
    await watched.until(
      () =>
        livesIn(watched.frames).filter((live) => live === "peer").length > before &&
        watched.text().startsWith(beginning),
    );
    servers.openGate();
    await watched.end;
    const types = watched.frames.map(({ data }) => data.type);
    expect(types).toContain("delta");
    expect(watched.frames.findLast(({ data }) => data.type === "final")?.data).toMatchObject({
      result: { status: "completed", text: `${beginning}word19 and the end.` },
    });
    const events = await fetch(`${url}/v1/sessions/${sessionId}/events?limit=500`, { headers });
    const log = ((await events.json()) as { readonly events: readonly unknown[] }).events;
    expect(watched.frames.filter(({ id }) => id !== undefined).map(({ data }) => data)).toEqual(log);
    for (const running of [two, reading]) {
      running.kill("SIGTERM");
      expect((await running.ended).code).toBe(0);
    }
  },
);

test("peers without their secret, and a secret that is too short, are refused", async () => {
  const world = createWorld({ "short.txt": "short" });
  const run = (args: readonly string[]) => world.pawl(["serve", "--model", "demo", "--port", "0", ...args]);
  for (const args of [
    ["--peers", "http://127.0.0.1:1"],
    ["--peer-address", "http://127.0.0.1:1"],
    ["--peer-secret-file", "short.txt", "--peers", "http://127.0.0.1:1"],
  ])
    expect(await run(args), args.join(" ")).toMatchObject({ code: 2, stderr: expect.stringContaining("secret") });
  const address = ["--peer-secret-file", "short.txt", "--peer-address", "127.0.0.1:1"];
  expect(await run(address)).toMatchObject({ code: 2 });
});
