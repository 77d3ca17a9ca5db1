/**
 * Logins to MCP servers, with the real library, over HTTP.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAgent, createClient, createMemoryStore, pendingApprovals, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import {
  connectMcpServer,
  fileCredentials,
  finishMcpLogin,
  logInToMcpServer,
  type McpLogin,
} from "../../src/tools/mcp/index.js";
import { verifies } from "../verifies.js";
import { createTempFolder } from "./folder.js";
import { type LoginServer, startLoginServer, visit } from "./login-server.js";

const storedIn = () => join(createTempFolder(), "logins", "mcp.json");

function person(file: string, options: Partial<Extract<McpLogin, { as: "person" }>> = {}): McpLogin {
  return { as: "person", credentials: fileCredentials(file), show: visit, waitMs: 5_000, ...options };
}

async function connect({ url }: LoginServer, login: McpLogin, options: { readonly resources?: true } = {}) {
  const transport = { type: "http", url, login } as const;
  const server = await connectMcpServer({ name: "s", transport, trust: "all", ...options });
  onTestFinished(server.close);
  return server;
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What the model reads of one call. */
async function callOnce(
  server: Awaited<ReturnType<typeof connect>>,
  call: { readonly name: string; readonly input?: { readonly uri: string } } = { name: "s_who" },
): Promise<string> {
  const model = createScriptedModel([{ calls: [call] }, { text: "Done." }]);
  await createAgent({ model, tools: server.tools }).run("Go");
  const [part] = model.requests[1]?.messages.at(-1)?.parts ?? [];
  return part?.type === "tool_result" && part.output.type === "text" ? part.output.text : "";
}

describe("a person who logs in to an MCP server", () => {
  test("does so once: later connections and processes find the login", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = storedIn();
    const warn = vi.spyOn(console, "warn");
    onTestFinished(() => warn.mockRestore());
    expect(await callOnce(await connect(login, person(file)))).toBe("you");
    expect(login.counts).toMatchObject({ registrations: 1, logins: 1 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const later: McpLogin = { as: "person", credentials: fileCredentials(file) };
    expect(await callOnce(await connect(login, later))).toBe("you");
    expect(login.counts).toMatchObject({ registrations: 1, logins: 1, refreshes: 0 });
    expect(warn).not.toHaveBeenCalled();
  });

  test("stays logged in when a token expires", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const server = await connect(login, person(storedIn()));
    login.expire();
    expect(await callOnce(server)).toBe("you");
    expect(login.counts).toMatchObject({ logins: 1, refreshes: 1, reuses: 0 });
  });

  test("keeps the login when the authorization server cannot be reached", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const server = await connect(login, person(storedIn()));
    login.expire();
    login.faults.isUnreachable = true;
    expect(await callOnce(server)).toMatch(/^Error: .*gave no result/);
    login.faults.isUnreachable = false;
    expect(await callOnce(server)).toBe("you");
    expect(login.counts).toMatchObject({ logins: 1, refreshes: 1 });
  });

  test("grants more when a call needs it", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const server = await connect(login, person(storedIn()));
    login.faults.scope = "files";
    expect(await callOnce(server)).toBe("you");
    expect(login.counts).toMatchObject({ logins: 2 });
  });

  test("is not asked again when the token of a later login expires", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const server = await connect(login, person(storedIn(), { port: await findFreePort() }));
    login.faults.scope = "files";
    expect(await callOnce(server)).toBe("you");
    login.expire();
    expect(await callOnce(server)).toBe("you");
    expect(login.counts).toMatchObject({ registrations: 1, logins: 2, refreshes: 1 });
  });

  test("may take as long as it likes", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    // The person comes back after `show` has returned.
    const show = (page: URL) => void visit(new URL(login.url)).then(() => visit(page));
    const slow = person(storedIn(), { show, waitMs: Number.POSITIVE_INFINITY });
    expect(await callOnce(await connect(login, slow))).toBe("you");
  });

  test("is not waited for while `show` never returns", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = storedIn();
    const never = person(file, { show: () => new Promise(() => {}), waitMs: 50 });
    await expect(logInToMcpServer({ url: login.url, login: never })).rejects.toThrow("Nobody logged in within 50 ms");
    expect(await callOnce(await connect(login, person(file)))).toBe("you");
  });

  test("replaces a login by another one beside running calls", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = storedIn();
    const server = await connect(login, person(file));
    await logInToMcpServer({ url: login.url, login: person(file) });
    expect(login.counts).toMatchObject({ logins: 2 });
    expect(await callOnce(server)).toBe("you");
    await fileCredentials(file).write(login.url, {});
    expect(readFileSync(file, "utf8")).toBe("{}");
  });
});

type RemoteLogin = Extract<McpLogin, { as: "person" }>;

/** The program's server, to which browsers are redirected: it completes the login, and answers the questions about it. */
async function startCallbackServer(file: string, store: Store): Promise<{ readonly login: RemoteLogin }> {
  const http = createServer(async (request, response) => {
    const done = await finishMcpLogin({ login, callback: request.url ?? "" }).catch((error) => error);
    if (done instanceof Error) return void response.writeHead(400).end(done.message);
    for await (const { sessionId, callKey, questionId, url } of pendingApprovals(store))
      if (url === done.page && questionId !== undefined)
        await createClient({ store })
          .session(sessionId)
          .answer(callKey, { type: "reply", value: true }, { questionId });
    response.end("Thank you.");
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const redirectUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp-login`;
  const login: RemoteLogin = { as: "person", credentials: fileCredentials(file), redirectUrl };
  return { login };
}

function createCaller(store: Store, tools: Awaited<ReturnType<typeof connect>>["tools"]) {
  const model = createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: JSON.stringify(messages.at(-1)?.parts) }
      : { calls: [{ name: "s_who" }] },
  );
  return createAgent({ name: "caller", model, store, tools });
}

describe("a login that a call asks for", () => {
  /** Connects two servers that share a login, which then ends. */
  async function askTwice() {
    const login = await startLoginServer();
    const file = storedIn();
    await connect(login, person(file));
    const store = createMemoryStore();
    const { login: remote } = await startCallbackServer(file, store);
    const server = await connect(login, remote);
    await fileCredentials(file).write(login.url, {});
    const agent = createCaller(store, server.tools);
    const runs = await Promise.all(["s1", "s2"].map((sessionId) => agent.run("Go", { sessionId })));
    const questions = runs.flatMap((run) => (run.status === "awaiting_human" ? run.approvals : []));
    return { login, store, remote, server, agent, questions };
  }

  test("is a question that outlives the process, and the call goes on after it", verifies("PROT-6#login"), async () => {
    const { login, store, remote, server, questions } = await askTwice();
    const [{ url: page = "", question = "" } = {}, other] = questions;
    expect(question).toContain('"s" requires a login');
    // Both questions have the same page.
    expect(other?.url).toBe(page);
    expect(login.counts).toMatchObject({ logins: 1, calls: 0 });
    await server.close();

    await visit(new URL(page));
    expect(login.counts).toMatchObject({ registrations: 2, logins: 2, calls: 0 });
    // In another process: with another connection, and another agent on the same store.
    const later = createCaller(store, (await connect(login, remote)).tools);
    for (const id of ["s1", "s2"])
      expect(await later.session(id).resume()).toMatchObject({
        status: "completed",
        text: expect.stringContaining("you"),
      });
    expect(login.counts).toMatchObject({ registrations: 2, logins: 2, calls: 2 });
  });

  test("has a page that no model sees: a resource cannot ask for it", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = storedIn();
    await connect(login, person(file));
    const { login: remote } = await startCallbackServer(file, createMemoryStore());
    const server = await connect(login, remote, { resources: true });
    await fileCredentials(file).write(login.url, {});
    const told = await callOnce(server, { name: "s_read_resource", input: { uri: "file:///notes" } });
    expect(told).toContain('"s" requires a login');
    expect(told).not.toMatch(/state=|http/);
  });

  test("can be declined, and the model is told", verifies("PROT-6#login"), async () => {
    const { login, agent, questions } = await askTwice();
    const session = agent.session("s1");
    await session.answer(
      questions[0]?.callKey ?? "",
      { type: "decline" },
      { questionId: questions[0]?.questionId ?? "" },
    );
    expect(await session.resume()).toMatchObject({ text: expect.stringContaining("nobody logged in") });
    expect(login.counts.calls).toBe(0);
  });

  test("is completed only by the redirect of its own page, once", verifies("PROT-6#login"), async () => {
    const { remote, questions, login } = await askTwice();
    const page = new URL(questions[0]?.url ?? "");
    const state = page.searchParams.get("state") ?? "";
    const finish = (query: Record<string, string>) =>
      finishMcpLogin({ login: remote, callback: `/mcp-login?${new URLSearchParams(query)}` });
    const [, name] = state.split(".");
    for (const forged of ["", "x", `x.${name}`, `${state}.`, state.slice(1)])
      await expect(finish({ code: "c", state: forged })).rejects.toMatchObject({ code: "bad_input" });
    // Whoever forges one takes no lock that calls wait for.
    const { credentials } = remote;
    await credentials.alone(
      login.url,
      () => expect(finish({ code: "c", state: `x.${name}` })).rejects.toMatchObject({ code: "bad_input" }),
      AbortSignal.timeout(5_000),
    );
    await expect(finish({ error: "access_denied", state })).rejects.toThrow("The login was refused");
    await visit(page);
    await expect(finish({ code: "c", state })).rejects.toMatchObject({ code: "bad_input" });
    expect(login.counts.logins).toBe(2);
  });

  test(
    "ends with its page if nobody logs in, and the next call shows another page",
    verifies("PROT-6#login"),
    async () => {
      const { login, agent, questions, remote } = await askTwice();
      const page = questions[0]?.url ?? "";
      const now = Date.now;
      const spy = vi.spyOn(Date, "now").mockImplementation(() => now() + 15 * 24 * 3_600_000);
      onTestFinished(() => spy.mockRestore());

      expect(await agent.session("s1").resume()).toMatchObject({ text: expect.stringContaining("nobody logged in") });
      const { searchParams } = new URL(page);
      const callback = `/mcp-login?${new URLSearchParams({ code: "c", state: searchParams.get("state") ?? "" })}`;
      await expect(finishMcpLogin({ login: remote, callback })).rejects.toMatchObject({ code: "login_needed" });

      const next = await agent.run("Go", { sessionId: "s3" });
      const [{ url: nextPage = "" } = {}] = next.status === "awaiting_human" ? next.approvals : [];
      expect(nextPage).not.toBe(page);
      await visit(new URL(nextPage));
      expect(await agent.session("s3").resume()).toMatchObject({ text: expect.stringContaining("you") });
      expect(login.counts).toMatchObject({ logins: 2, calls: 1 });
    },
  );

  test("gives each call that shows its page as long as the first", verifies("PROT-6#login"), async () => {
    const { agent, questions } = await askTwice();
    const now = Date.now;
    const laterMs = 13 * 24 * 3_600_000;
    const spy = vi.spyOn(Date, "now").mockImplementation(() => now() + laterMs);
    onTestFinished(() => spy.mockRestore());
    const run = await agent.run("Go", { sessionId: "s3" });
    const [third] = run.status === "awaiting_human" ? run.approvals : [];
    expect(third?.url).toBe(questions[0]?.url);
    expect(third?.expiresAt).toBeGreaterThanOrEqual((questions[0]?.expiresAt ?? Number.NaN) + laterMs);
  });

  test("keeps the state that the server has answered with before", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = storedIn();
    await connect(login, person(file));
    const store = createMemoryStore();
    const { login: remote } = await startCallbackServer(file, store);
    const agent = createCaller(store, (await connect(login, remote)).tools);
    login.faults.state = "half done";
    const asked = await agent.run("Go", { sessionId: "s" });
    const [{ url: page = "" } = {}] = asked.status === "awaiting_human" ? asked.approvals : [];
    await visit(new URL(page));
    expect(await agent.session("s").resume()).toMatchObject({ text: expect.stringContaining("you") });
    // The call that the server has begun is not sent a second time.
    expect(login.states).toEqual([null, "half done"]);
  });

  test(
    "names its page if the server is not connected yet, and has one way back",
    verifies("PROT-6#login"),
    async () => {
      const login = await startLoginServer();
      const { login: remote } = await startCallbackServer(storedIn(), createMemoryStore());
      const refused = await connect(login, remote).catch((error: Error) => error);
      expect(refused).toMatchObject({ code: "login_needed" });
      await visit(new URL(String(refused).split("login: ")[1] ?? ""));
      expect((await connect(login, remote)).tools).toHaveLength(1);
      await expect(connect(login, { ...remote, show: visit })).rejects.toMatchObject({ code: "bad_configuration" });
      await expect(connect(login, { ...remote, redirectUrl: "http://example.org/" })).rejects.toThrow("https://");
      await expect(
        finishMcpLogin({ login: { as: "person", credentials: remote.credentials }, callback: "/" }),
      ).rejects.toThrow("redirectUrl");
    },
  );
});

describe("a login to an MCP server fails", () => {
  test("if nobody can log in, and registers nothing", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const nobody: McpLogin = { as: "person", credentials: fileCredentials(storedIn()) };
    await expect(connect(login, nobody)).rejects.toMatchObject({ code: "login_needed" });
    expect(login.counts).toMatchObject({ registrations: 0, logins: 0 });
  });

  test("if the login has ended elsewhere", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = storedIn();
    await connect(login, person(file));
    const nobody: McpLogin = { as: "person", credentials: fileCredentials(file) };
    const server = await connect(login, nobody);
    login.expire();
    // Somebody who has stolen the file is quicker.
    const stolen = JSON.parse(readFileSync(file, "utf8"))[login.url];
    const body = new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: stolen.tokens.refresh_token,
      client_id: stolen.client.client_id,
    });
    await fetch(new URL("/token", login.url), { method: "POST", body });
    expect(await callOnce(server)).toContain("requires a login");
    expect(JSON.parse(readFileSync(file, "utf8"))[login.url].tokens).toBeUndefined();
  });

  test.each([
    ["another issuer in its metadata", { issuer: "https://elsewhere.example.org" }],
    ["the resource of another server", { resource: "https://elsewhere.example.org/mcp" }],
    ["a browser that comes back from another issuer", { iss: "https://elsewhere.example.org" }],
  ])("for %s", verifies("PROT-6#login"), async (_what, faults) => {
    const login = await startLoginServer();
    Object.assign(login.faults, faults);
    await expect(connect(login, person(storedIn()))).rejects.toThrow("cannot be reached");
    expect(login.counts.logins).toBe(0);
  });

  test("if nobody comes back in time", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const slow = person(storedIn(), { show: () => {}, waitMs: 50 });
    await expect(connect(login, slow)).rejects.toThrow("Nobody logged in within 50 ms");
  });

  test("if its file is another one", verifies("PROT-6#login"), async () => {
    const login = await startLoginServer();
    const file = join(createTempFolder(), "logins.json");
    writeFileSync(file, '{"a": 1}');
    await expect(connect(login, person(file))).rejects.toThrow("does not contain logins");
  });
});

test("a request that is not of a browser that comes back changes nothing", verifies("PROT-6#login"), async () => {
  const login = await startLoginServer();
  const answers: string[] = [];
  const show = async (page: URL) => {
    const { port } = new URL(page.searchParams.get("redirect_uri") ?? "");
    for (const target of ["//", "*", "http://[", "/\\"]) {
      const socket = createConnection(Number(port), "127.0.0.1");
      socket.end(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      answers.push((await buffer(socket)).toString().slice(0, 12));
    }
    await visit(page);
  };
  expect(await callOnce(await connect(login, person(storedIn(), { show })))).toBe("you");
  expect(answers).toEqual(Array(4).fill("HTTP/1.1 404"));
});

test("a login that is aborted ends at once, and lets the next one begin", verifies("PROT-6#login"), async () => {
  const login = await startLoginServer();
  const file = storedIn();
  const stop = new AbortController();
  const abandoned = person(file, { show: () => stop.abort(new Error("not now")), waitMs: 60_000 });
  const opening = logInToMcpServer({ url: login.url, login: abandoned, signal: stop.signal });
  await expect(opening).rejects.toThrow("not now");
  await logInToMcpServer({ url: login.url, login: person(file) });
  expect(login.counts.logins).toBe(1);
});

test("a browser that comes back from another login changes nothing", verifies("PROT-6#login"), async () => {
  const login = await startLoginServer();
  const statuses: number[] = [];
  const show = async (page: URL) => {
    const wrong = new URL(page.searchParams.get("redirect_uri") ?? "");
    wrong.search = "?code=stolen&state=guessed";
    statuses.push((await fetch(wrong)).status);
    await visit(page);
  };
  expect(await callOnce(await connect(login, person(storedIn(), { show })))).toBe("you");
  expect(statuses).toEqual([400]);
});

test("a program logs in by its own secret", verifies("PROT-6#login"), async () => {
  const login = await startLoginServer();
  const client: McpLogin = {
    as: "client",
    credentials: fileCredentials(storedIn()),
    client: { id: "program", secret: "secret" },
  };
  const server = await connect(login, client);
  login.expire();
  expect(await callOnce(server)).toBe("you");
  expect(login.counts).toMatchObject({ registrations: 0, logins: 0 });
});

test("of several users of a login, one refreshes it", verifies("PROT-6#login"), async () => {
  const login = await startLoginServer();
  const file = storedIn();
  const servers = await Promise.all(Array.from({ length: 4 }, () => connect(login, person(file))));
  expect(login.counts.logins).toBe(1);
  login.expire();
  expect(await Promise.all(servers.map((server) => callOnce(server)))).toEqual(["you", "you", "you", "you"]);
  expect(login.counts).toMatchObject({ logins: 1, refreshes: 1, reuses: 0 });
});

test.each([
  ["an address that others can read", { url: "http://example.org/mcp" }, "begins with https://"],
  ["a program without a secret", { login: { as: "client" } }, "needs login.client with an id and a secret"],
  ["an unknown option", { login: { as: "person", opn: true } }, "opn"],
  ["no store", { login: { as: "person", credentials: undefined } }, "fileCredentials(path)"],
] as const)("a login is refused for %s", verifies("PROT-6#login"), async (_what, options, message) => {
  const { url, login } = options as { readonly url?: string; readonly login?: object };
  const all = { as: "person", credentials: fileCredentials(storedIn()), ...login } as McpLogin;
  await expect(logInToMcpServer({ url: url ?? "https://example.org/mcp", login: all })).rejects.toThrow(message);
});
