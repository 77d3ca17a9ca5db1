/**
 * `pawl serve` in a process of its own: what it prints, whom it lets in, what it carries out, and how it leaves.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { followSession } from "../../src/server/client/index.js";
import { createToken } from "../../src/server/index.js";
import { local, secret, startReceiver } from "../notices/receiver.js";
import { createDeferred } from "../support/agents.js";
import { findSampleValue, parsePrometheus } from "../support/prometheus.js";
import { verifies } from "../verifies.js";
import { createWorld, type RunningProcess, type RunOptions, type World } from "./pawl.js";

const files = { "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';

type Serving = {
  readonly running: RunningProcess;
  readonly url: string;
  readonly token: string;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<{ status: number; json: Json }>;
  readonly stderr: () => string;
};
// biome-ignore lint/suspicious/noExplicitAny: answers of all routes
type Json = any;

/** The agent of the folder with the demo model, or a module, which brings its own model. */
async function serve(world: World, args: readonly string[] = [], options: RunOptions = {}): Promise<Serving> {
  const model = args.some((arg) => arg.endsWith(".mjs")) ? [] : ["--model", "demo"];
  const running = world.start(["serve", "--port", "0", ...model, ...args], options);
  let stderr = "";
  running.child.stderr?.on("data", (text: string) => {
    stderr += text;
  });
  await running.said(/executed (?:here|elsewhere)/);
  const [, url = ""] = /listens on (http:\S+)/.exec(stderr) ?? [];
  const [, made = ""] = /^Token, for this start only: (\S+)$/m.exec(stderr) ?? [];
  const token = made === "" ? (options.env?.PAWL_TOKEN ?? "") : made;
  return {
    running,
    url,
    token,
    stderr: () => stderr,
    async ask(method, path, body) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, json: text.startsWith("{") ? JSON.parse(text) : text };
    },
  };
}

describe("pawl serve", () => {
  test(
    "serves the agent of the folder, whose changes wait for a yes",
    verifies("SRV-7", "SRV-6", "SEC-5#server", "SEC-1#token"),
    async () => {
      const world = createWorld(files);
      const { running, url, token, ask, stderr } = await serve(world);
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(token).toMatch(/^[\w-]{43}$/);
      expect(stderr()).toContain("Runs of pawl are executed here.");
      expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
      const { json } = await ask("POST", "/v1/sessions", { agent: "pawl", input: replace });
      const path = `/v1/sessions/${json.sessionId}`;
      expect((await ask("GET", `${path}/runs/${json.runId}?wait=30`)).json).toMatchObject({ status: "awaiting_human" });
      expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("colour\n");
      const [{ callKey, inputHash, name }] = (await ask("GET", "/v1/approvals")).json.approvals;
      expect(name).toBe("edit_file");
      const answer = { callKey, inputHash, decision: { type: "approve" } };
      expect((await ask("POST", `${path}/answers`, answer)).json).toMatchObject({ counted: "first" });
      expect((await ask("GET", `${path}/runs/${json.runId}?wait=30`)).json).toMatchObject({ status: "completed" });
      expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
      const figures = parsePrometheus((await ask("GET", "/metrics")).json);
      expect(findSampleValue(figures, "pawl_runs_total", { agent: "pawl", status: "completed" })).toBe(1);
      expect(
        findSampleValue(figures, "pawl_tool_calls_total", { agent: "pawl", tool: "edit_file", outcome: "ok" }),
      ).toBe(1);
      running.kill("SIGTERM");
      const { code, stdout } = await running.ended;
      expect(code).toBe(0);
      expect(stdout).toBe("");
      // One line for each change, and nothing of what it said.
      const lines = stderr()
        .split("\n")
        .filter((line) => /^\d{4}-\d\d-\d\dT/.test(line));
      expect(lines.map((line) => line.split(" ").slice(1, 5))).toEqual([
        ["begin", json.sessionId, "token", "201"],
        ["answer", json.sessionId, "token", "200"],
      ]);
      expect(lines.join("\n")).not.toContain(token);
      expect(lines.join("\n")).not.toContain("colour");
      const secret = join(world.home, "server-secret");
      expect(statSync(secret).mode & 0o777).toBe(0o600);
    },
  );

  test(
    "takes its token from a file or the environment, and then does not print it",
    verifies("SEC-1#token"),
    async () => {
      const world = createWorld(files);
      const token = createToken();
      writeFileSync(join(world.root, "token.txt"), `${token}\n`);
      for (const [args, env] of [
        [["--token-file", "token.txt"], {}],
        [[], { PAWL_TOKEN: token }],
      ] as const) {
        const { running, url, stderr } = await serve(world, args, { env });
        const asked = await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
        expect(asked.status).toBe(200);
        expect(stderr()).not.toContain(token);
        running.kill("SIGTERM");
        expect((await running.ended).code).toBe(0);
      }
    },
  );

  test(
    "refuses other addresses without a token of one's own, short tokens and unknown options",
    verifies("SEC-1#binding"),
    async () => {
      const world = createWorld(files);
      const run = (args: readonly string[], env = {}) =>
        world.pawl(["serve", "--model", "demo", "--port", "0", ...args], { env });
      expect(await run(["--host", "0.0.0.0"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--token-file"),
      });
      expect(await run([], { PAWL_TOKEN: "short" })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("22 characters"),
      });
      expect(await run(["--unknwn"])).toMatchObject({ code: 2, stderr: expect.stringContaining("unknwn") });
      expect(await run(["--port", "70000"])).toMatchObject({ code: 2, stderr: expect.stringContaining("65535") });
      expect(await world.pawl(["serve", "--port", "0", "nothing.js"])).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining("There is no file nothing.js."),
      });
      for (const option of ["--token-file", "--peer-secret-file"])
        expect(await run([option, "nothing.txt"])).toMatchObject({
          code: 2,
          stderr: expect.stringContaining(`${option}: nothing.txt cannot be read: there is no such file.`),
        });
      const taken = await serve(world);
      const port = new URL(taken.url).port;
      const second = await world.pawl(["serve", "--model", "demo", "--port", port]);
      expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining("Cannot listen") });
      taken.running.kill("SIGTERM");
      await taken.running.ended;
    },
  );

  test("listens on a socket that only its owner opens", verifies("SEC-1#binding"), async () => {
    const world = createWorld(files);
    const socketPath = join(world.root, "pawl.sock");
    const token = createToken();
    const running = world.start(["serve", "--model", "demo", "--socket", socketPath], { env: { PAWL_TOKEN: token } });
    await running.said("executed here");
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { host: "localhost", authorization: `Bearer ${token}` };
      httpRequest({ socketPath, path: "/v1/sessions", headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
    running.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
    expect(() => statSync(socketPath)).toThrow();
  });

  test(
    "without work posts and reads, and a worker or another server carries the runs out",
    verifies("SRV-7"),
    async () => {
      const world = createWorld(files);
      const { running, ask, stderr } = await serve(world, ["--no-work"]);
      expect(stderr()).toContain("Runs are executed elsewhere.");
      const begin = async () => {
        const { json } = await ask("POST", "/v1/sessions", { agent: "pawl", input: "List the files" });
        const path = `/v1/sessions/${json.sessionId}/runs/${json.runId}`;
        expect((await ask("GET", path)).status).toBe(202);
        return path;
      };
      const first = await begin();
      expect((await world.pawl(["worker", "--once", "--yes"])).code).toBe(0);
      expect((await ask("GET", first)).json).toMatchObject({ status: "completed" });
      const second = await begin();
      const working = await serve(world);
      expect((await ask("GET", `${second}?wait=30`)).json).toMatchObject({ status: "completed" });
      for (const one of [running, working.running]) {
        one.kill("SIGTERM");
        expect((await one.ended).code).toBe(0);
      }
    },
  );

  test("serves what a module gives: an agent, a list, an engine, or a function", verifies("SRV-7"), async () => {
    const world = createWorld();
    const told = createDeferred<void>();
    const receiver = await startReceiver(() => {
      told.resolve();
      return 204;
    });
    const dist = new URL("../../dist/index.js", import.meta.url).href;
    const agent = `createAgent({ name: NAME, store, model: { id: "fixed", async *stream() {
      yield { kind: "text-delta", id: "t", text: "Fixed." };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    } } })`;
    const named = (name: string) => agent.replace("NAME", JSON.stringify(name));
    const modules = {
      "one.mjs": `import { writeFileSync } from "node:fs";
        import { createNotices } from ${JSON.stringify(dist.replace("index.js", "notices/index.js"))};
        const desk = { id: "desk", url: ${JSON.stringify(receiver.url)}, secret: ${JSON.stringify(secret)} };
        export const notices = createNotices([desk], ${JSON.stringify(local)});
        export const scores = { catchUp: async () => writeFileSync("judged", "") };
        export default ${named("one")};`,
      "list.mjs": `export default [${named("one")}, ${named("two")}];`,
      "function.mjs": `export default async () => [${named("one")}, ${named("two")}];`,
      "wrong.mjs": "export default 7;",
    };
    mkdirSync(world.root, { recursive: true });
    for (const [file, text] of Object.entries(modules))
      writeFileSync(
        join(world.root, file),
        `import { createAgent, createMemoryStore } from ${JSON.stringify(dist)};\nconst store = createMemoryStore();\n${text}\n`,
      );
    for (const [file, names] of [
      ["one.mjs", "one"],
      ["list.mjs", "one, two"],
      ["function.mjs", "one, two"],
    ] as const) {
      const { running, ask, stderr } = await serve(world, [file]);
      expect(stderr()).toContain(`Runs of ${names} are executed here.`);
      const { json } = await ask("POST", "/v1/sessions", { agent: "one", input: "Go." });
      const result = await ask("GET", `/v1/sessions/${json.sessionId}/runs/${json.runId}?wait=30`);
      expect(result.json).toMatchObject({ status: "completed", text: "Fixed." });
      // The worker of the server tells other systems, and judges, as the module says.
      if (file === "one.mjs") await told.promise;
      running.kill("SIGTERM");
      expect((await running.ended).code).toBe(0);
    }
    expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual(["run.ended"]);
    expect(statSync(join(world.root, "judged")).isFile()).toBe(true);
    const wrong = await world.pawl(["serve", "--port", "0", "wrong.mjs"]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("must export by default") });
    writeFileSync(join(world.root, "throws.mjs"), '\nthrow new Error("boom");\n');
    for (const command of ["serve", "worker"])
      expect(await world.pawl([command, "throws.mjs"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("throws.mjs could not be loaded: Error: boom (throws.mjs, line 2)."),
      });
  });
});

describe("a server that is told to leave", () => {
  const gateModule = (dist: string, gate: string) => `
    import { existsSync, writeFileSync } from "node:fs";
    import { createAgent, defineTool } from ${JSON.stringify(dist)};
    import { openSqliteStore } from ${JSON.stringify(dist.replace("index.js", "stores/sqlite/index.js"))};
    const store = await openSqliteStore({ path: ${JSON.stringify(`${gate}.db`)} });
    const tool = defineTool({
      name: "gate", description: "Waits.", input: { type: "object" }, recover: "rerun",
      async execute() {
        writeFileSync(${JSON.stringify(gate)}, "begun");
        while (!existsSync(${JSON.stringify(`${gate}.open`)})) await new Promise((resolve) => setTimeout(resolve, 20));
        return "opened";
      },
    });
    const model = { id: "gated", async *stream({ messages }) {
      if (messages.at(-1).role === "user") yield { kind: "tool-call", id: "c", name: "gate", input: "{}" };
      else yield { kind: "text-delta", id: "t", text: "Done." };
      yield { kind: "done", finishReason: { unified: messages.at(-1).role === "user" ? "tool-calls" : "stop" }, usage: {} };
    } };
    export default createAgent({ name: "gated", store, model, tools: [tool] });`;

  async function gated() {
    const world = createWorld();
    const gate = join(world.root, "gate");
    const dist = new URL("../../dist/index.js", import.meta.url).href;
    writeFileSync(join(world.root, "gated.mjs"), gateModule(dist, gate));
    const token = createToken();
    const start = () => serve(world, ["gated.mjs"], { env: { PAWL_TOKEN: token } });
    return { world, gate, token, start };
  }

  test("drains: it says so, loses no run, and another process carries on", verifies("SRV-5", "SRV-6"), async () => {
    const { gate, token, start } = await gated();
    const first = await start();
    const { json } = await first.ask("POST", "/v1/sessions", { agent: "gated", input: "Go." });
    await expect
      .poll(() => statSync(gate, { throwIfNoEntry: false })?.size ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(0);
    const stream = followSession({
      url: `${first.url}/v1/sessions/${json.sessionId}/stream`,
      headers: { authorization: `Bearer ${token}` },
    });
    await stream.next();
    expect((await first.ask("GET", "/ready")).status).toBe(200);
    first.running.kill("SIGTERM");
    await first.running.said("Exiting");
    let bye: unknown = null;
    for await (const { frame } of stream) {
      if (frame.data.type !== "bye") continue;
      bye = frame.data;
      break;
    }
    expect(bye).toMatchObject({ type: "bye", why: "drain" });
    expect(await first.ask("GET", "/ready")).toMatchObject({ status: 503, json: { error: { code: "draining" } } });
    expect((await first.ask("GET", "/health")).status).toBe(200);
    const refused = await first.ask("POST", "/v1/sessions", { agent: "gated", input: "Go." });
    expect(refused).toMatchObject({ status: 503, json: { error: { code: "draining" } } });
    expect((await first.running.ended).code).toBe(0);
    writeFileSync(`${gate}.open`, "");
    const second = await start();
    const result = await second.ask("GET", `/v1/sessions/${json.sessionId}/runs/${json.runId}?wait=30`);
    expect(result.json).toMatchObject({ status: "completed", text: "Done." });
    second.running.kill("SIGTERM");
    expect((await second.running.ended).code).toBe(0);
  });

  test("leaves at once when it is told twice, and no run is lost", verifies("SRV-5"), async () => {
    const { gate, start } = await gated();
    const first = await start();
    const { json } = await first.ask("POST", "/v1/sessions", { agent: "gated", input: "Go." });
    await expect
      .poll(() => statSync(gate, { throwIfNoEntry: false })?.size ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(0);
    first.running.kill("SIGTERM");
    await first.running.said("Exiting");
    first.running.kill("SIGTERM");
    expect((await first.running.ended).code).toBe(75);
    writeFileSync(`${gate}.open`, "");
    const second = await start();
    const result = await second.ask("GET", `/v1/sessions/${json.sessionId}/runs/${json.runId}?wait=60`);
    expect(result.json).toMatchObject({ status: "completed", text: "Done." });
    second.running.kill("SIGTERM");
    await second.running.ended;
  });
});

describe("pawl ui", () => {
  test("gives a link to the page; a second one is of the same server, and only for the same store", async () => {
    const world = createWorld(files);
    const first = world.start(["ui", "--port", "0", "--model", "demo"]);
    let said = "";
    first.child.stdout?.on("data", (text: string) => {
      said += text;
    });
    await first.said(/http:\S+#start=\S+\n/);
    const [link = ""] = /http:\S+/.exec(said) ?? [];
    const page = await fetch(link);
    expect(await page.text()).toContain("<title>Pawl</title>");
    expect(page.headers.get("content-security-policy")).toContain("require-trusted-types-for 'script'");

    const second = await world.pawl(["ui"]);
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout.startsWith(new URL(link).origin)).toBe(true);
    expect(second.stdout.trim()).not.toBe(link);

    const elsewhere = await world.pawl(["ui"], { env: { PAWL_STORE: "postgres://nobody@127.0.0.1:1/none" } });
    expect(elsewhere.code).not.toBe(0);
    expect(elsewhere.stdout).toBe("");

    first.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);
  });

  test("sends nothing to a program that listens where a killed server did", verifies("SEC-1#token"), async () => {
    const world = createWorld(files);
    const linkOf = async (running: RunningProcess) => {
      let said = "";
      running.child.stdout?.on("data", (text: string) => {
        said += text;
      });
      await running.said(/http:\S+#start=\S+\n/);
      return new URL(/http:\S+/.exec(said)?.[0] ?? "");
    };
    const first = world.start(["ui", "--port", "0", "--model", "demo"]);
    const { port } = await linkOf(first);
    first.kill("SIGKILL");
    await first.ended;
    const asked: { readonly url: string | undefined; readonly headers: object }[] = [];
    const stranger = createHttpServer(({ url, headers }, response) => {
      asked.push({ url, headers });
      response.end(JSON.stringify({ code: "0".repeat(40), page: null, server: "0".repeat(64) }));
    });
    await new Promise<void>((resolve) => stranger.listen(Number(port), "127.0.0.1", resolve));
    const second = world.start(["ui", "--port", "0", "--model", "demo"]);
    expect((await linkOf(second)).port).not.toBe(port);
    expect(asked.map(({ url = "" }) => url.split("?")[0])).toEqual(["/v1/ui/proof"]);
    for (const { headers } of asked) expect(headers).not.toHaveProperty("authorization");
    stranger.close();
    second.kill("SIGTERM");
    await second.ended;
  });
});
