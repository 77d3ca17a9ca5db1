/**
 * Schedules, ticks and signals over HTTP, and webhooks: who may do what, and what comes of it.
 */
import { createHmac } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAgent, createMemoryStore, createSchedules, type Store } from "../../src/index.js";
import type { AskedSession, Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { stripe } from "../../src/webhooks/index.js";
import { createDeferred } from "../support/agents.js";
import { createDurableAgent } from "../support/durable-tool.js";
import { verifies } from "../verifies.js";
import { startServer } from "./rig.js";

const daily = { cron: "0 8 * * *", timezone: "Europe/Berlin", agent: "press", input: "What is new?" };

/** The header `x-who` names the principal and its scopes. */
function authenticate(request: Request): Principal | null {
  const [id, ...scopes] = (request.headers.get("x-who") ?? "").split(" ");
  return id === undefined || id === "" ? null : { id, scopes: scopes as unknown as Principal["scopes"] };
}

const ada = { "x-who": "ada read schedule run" };
const bob = { "x-who": "bob read schedule run" };
const root = { "x-who": "root read schedule run admin" };

describe("schedules over HTTP", () => {
  test("belong to who made them, and so do their sessions", verifies("TIME-4#schedules"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Nothing." })), store });
    const { ask } = await startServer({ store, agents: [agent], work: false, authenticate });
    expect(await ask("PUT", "/v1/schedules/morning", daily, { "x-who": "eve read run" })).toMatchObject({
      status: 403,
    });
    const put = await ask("PUT", "/v1/schedules/morning", daily, ada);
    expect(put.json).toMatchObject({ id: "morning", rev: 1, principal: "ada", nextAt: expect.any(Number) });

    expect((await ask("GET", "/v1/schedules", undefined, bob)).json).toEqual({ schedules: [], next: null });
    const refused = { status: 404, json: { error: { code: "no_schedule" } } };
    for (const [method, path, body] of [
      ["GET", "/v1/schedules/morning", undefined],
      ["GET", "/v1/schedules/morning/slots", undefined],
      ["POST", "/v1/schedules/morning/run", {}],
      ["POST", "/v1/schedules/morning/pause", {}],
      ["DELETE", "/v1/schedules/morning", undefined],
    ] as const)
      expect(await ask(method, path, body, bob), path).toMatchObject(refused);
    expect(await ask("PUT", "/v1/schedules/morning", daily, bob)).toMatchObject({ status: 409 });

    // What an administrator changes stays ada's.
    const changed = await ask("PUT", "/v1/schedules/morning", { ...daily, cron: "0 9 * * *" }, root);
    expect(changed.json).toMatchObject({ rev: 2, principal: "ada" });
    const { sessionId } = (await ask("POST", "/v1/schedules/morning/run", {}, ada)).json;
    await ask("POST", "/v1/tick", {}, { "x-who": "timer tick" });
    expect((await ask("GET", `/v1/sessions/${sessionId}`, undefined, ada)).json).toMatchObject({
      status: "completed",
      info: { principal: "ada" },
    });
    expect(await ask("GET", `/v1/sessions/${sessionId}`, undefined, bob)).toMatchObject({ status: 404 });
  });

  test(
    "have the params that the server sets for who made them, whoever changes them",
    verifies("TIME-4#schedules"),
    async () => {
      const params = ({ principal }: { readonly principal: Principal }) => ({ tenant: principal.id });
      const { ask, store } = await startServer({ authenticate, params, clientOptions: ["model", "params"] });
      const put = (who: Record<string, string>) =>
        ask("PUT", "/v1/schedules/x", { ...daily, options: { params: { tenant: "other" } } }, who);
      expect((await put(ada)).json).toMatchObject({ options: { params: { tenant: "ada" } } });
      expect((await put(root)).json).toMatchObject({ principal: "ada", options: { params: { tenant: "ada" } } });
      const { sessionId } = (await ask("POST", "/v1/schedules/x/run", {}, ada)).json;
      expect((await store.inbox(sessionId))[0]?.body).toMatchObject({ options: { params: { tenant: "ada" } } });
    },
  );

  test(
    "are replaced only as they were when the request was allowed",
    verifies("TIME-4#schedules", "SEC-3"),
    async () => {
      const store = createMemoryStore();
      const schedules = createSchedules({ store });
      let meanwhile = async () => {};
      const may = async (principal: Principal, action: string, session: AskedSession | null) => {
        const isAllowed =
          principal.scopes.includes("admin") || session === null || session.info?.principal === principal.id;
        if (action === "schedule") await meanwhile();
        return isAllowed;
      };
      const { ask } = await startServer({ store, work: false, authenticate, may });
      meanwhile = async () => void (await schedules.put({ ...daily, id: "x", principal: "bob" }));
      const taken = { status: 409, json: { error: { code: "schedule_exists" } } };
      expect(await ask("PUT", "/v1/schedules/x", daily, ada)).toMatchObject(taken);
      meanwhile = async () => {
        await schedules.remove("x");
        await schedules.put({ ...daily, id: "x", principal: "ada" });
      };
      expect(await ask("PUT", "/v1/schedules/x", daily, bob)).toMatchObject(taken);
      meanwhile = async () => void (await schedules.remove("x"));
      expect(await ask("PUT", "/v1/schedules/x", daily, ada)).toMatchObject({ status: 404 });
      expect(await schedules.list()).toEqual([]);
    },
  );

  test("are limited for each principal", verifies("TIME-4#schedules"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "press", model: createScriptedModel([]), store });
    const limits = { schedulesPerPrincipal: 2 };
    const { ask } = await startServer({ store, agents: [agent], work: false, authenticate, limits });
    for (const id of ["a", "b"])
      expect(await ask("PUT", `/v1/schedules/${id}`, daily, ada)).toMatchObject({ status: 200 });
    const full = {
      status: 409,
      json: { error: { code: "schedule_full", message: expect.stringContaining("at most 2") } },
    };
    expect(await ask("PUT", "/v1/schedules/c", daily, ada)).toMatchObject(full);
    expect(await ask("PUT", "/v1/schedules/c", daily, bob)).toMatchObject({ status: 200 });
    expect(await ask("PUT", "/v1/schedules/a", { ...daily, cron: "0 9 * * *" }, ada)).toMatchObject({ status: 200 });
    expect(await ask("DELETE", "/v1/schedules/a", undefined, ada)).toMatchObject({ status: 204 });
    expect(await ask("PUT", "/v1/schedules/d", daily, ada)).toMatchObject({ status: 200 });
  });

  test("have a long input cut in lists, and whole by their id", verifies("TIME-4#schedules"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "press", model: createScriptedModel([]), store });
    const { ask } = await startServer({ store, agents: [agent], work: false, authenticate });
    const input = "What is new? ".repeat(1_000);
    await ask("PUT", "/v1/schedules/long", { ...daily, input }, ada);
    await ask("PUT", "/v1/schedules/short", daily, ada);
    const [long, short] = (await ask("GET", "/v1/schedules", undefined, ada)).json.schedules;
    expect(long.inputSize).toBeGreaterThan(13_000);
    expect(JSON.stringify(long.input).length).toBeLessThan(1_200);
    expect(long.input[0].parts[0].text).toMatch(/^What is new\? .* …$/);
    expect(short).not.toHaveProperty("inputSize");
    const { json } = await ask("GET", "/v1/schedules/long", undefined, ada);
    expect(json.input[0].parts[0].text).toBe(input);
    expect(json).not.toHaveProperty("inputSize");
  });

  test("show the status of a session only to who may read it", verifies("TIME-4#schedules", "SEC-3"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Nothing." })), store });
    const { ask } = await startServer({ store, agents: [agent], work: false, authenticate });
    const { timezone: _, cron: __, ...asked } = daily;
    const put = (who: Record<string, string>) =>
      ask("PUT", "/v1/schedules/once", { ...asked, at: "2025-01-01T08:00:00Z" }, who);
    const readSlots = async (who: Record<string, string>) =>
      (await ask("GET", "/v1/schedules/once/slots", undefined, who)).json.slots;
    const tick = () => ask("POST", "/v1/tick", {}, { "x-who": "timer tick" });
    await put(ada);
    await tick();
    expect(await readSlots(ada)).toMatchObject([{ outcome: "posted", status: "completed" }]);
    await ask("DELETE", "/v1/schedules/once", undefined, ada);
    await put(bob);
    await tick();
    expect(await readSlots(bob)).toMatchObject([{ outcome: "posted" }]);
    expect((await readSlots(bob))[0]).not.toHaveProperty("status");
  });

  test("post runs only to sessions to which their maker may post", verifies("TIME-4#schedules", "SEC-3"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Nothing." })), store });
    const { ask } = await startServer({ store, agents: [agent], work: false, authenticate });
    const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "press", input: "Go." }, ada)).json;
    await ask("POST", "/v1/tick", {}, { "x-who": "timer tick" });
    const put = (id: string, session: unknown, who: Record<string, string>) =>
      ask("PUT", `/v1/schedules/${id}`, { ...daily, session }, who);
    expect(await put("x", { id: sessionId }, bob)).toMatchObject({
      status: 404,
      json: { error: { code: "no_session" } },
    });
    expect(await put("x", { id: "new-one" }, bob)).toMatchObject({
      status: 404,
      json: { error: { code: "no_session" } },
    });
    const same = await put(sessionId, "same", bob);
    expect(same).toMatchObject({ status: 200, json: { session: { id: expect.stringMatching(/^[0-9a-f]{32}$/) } } });
    // It stays the same one, whoever changes the schedule.
    expect((await put(sessionId, "same", root)).json).toMatchObject({ rev: 1, session: same.json.session });
    expect(await put("z", "same", root)).toMatchObject({ json: { session: "same" } });
    const noRun = { "x-who": "cleo read schedule" };
    const lacks = { status: 403, json: { error: { code: "forbidden" } } };
    expect(await put("cleo", "new", noRun)).toMatchObject(lacks);
    expect(await ask("POST", "/v1/schedules/x/run", {}, noRun)).toMatchObject(lacks);
    expect(await put("x", { id: sessionId }, ada)).toMatchObject({ status: 200 });
    expect(await put("y", { id: "new-one" }, root)).toMatchObject({ status: 200 });
  });

  test(
    "are checked like those of a program, and their run options like those of a client",
    verifies("TIME-4#schedules"),
    async () => {
      const { ask } = await startServer({ clientOptions: ["model"] });
      const put = (more: object) => ask("PUT", "/v1/schedules/x", { ...daily, ...more });
      expect(await put({ cron: "61 * * * *" })).toMatchObject({
        status: 400,
        json: { error: { code: "bad_schedule" } },
      });
      expect(await put({ principal: "ada" })).toMatchObject({ status: 400 });
      expect(await put({ options: { systemPrompt: "Obey." } })).toMatchObject({ status: 400 });
      expect(await put({ options: { model: "small" } })).toMatchObject({
        status: 200,
        json: { options: { model: "small" } },
      });
      expect(await ask("GET", "/v1/schedules/a%2Fb")).toMatchObject({ status: 400 });
    },
  );

  test(
    "a tick fires what is due, drives it, and says when the next slot is",
    verifies("TIME-4#schedules"),
    async () => {
      const store = createMemoryStore();
      const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Nothing." })), store });
      const { ask } = await startServer({ store, agents: [agent], work: false });
      const { timezone: _, cron: __, ...asked } = daily;
      await ask("PUT", "/v1/schedules/once", { ...asked, at: "2025-01-01T08:00:00Z" });
      const next = (await ask("PUT", "/v1/schedules/morning", daily)).json.nextAt;
      expect((await ask("POST", "/v1/tick", {})).json).toEqual({ fired: 1, driven: 1, isIdle: true, nextAt: next });
      expect((await ask("GET", "/v1/schedules/once/slots")).json.slots).toMatchObject([
        { outcome: "posted", sessionId: "once@2025-01-01T08:00:00.000Z" },
      ]);
      expect((await ask("POST", "/v1/tick", {})).json).toMatchObject({ fired: 0, driven: 0 });
    },
  );

  test(
    "a tick of a process whose clock is ahead of the store's says when the store will have reached the slot",
    verifies("TIME-4#schedules"),
    async () => {
      const inner = createMemoryStore();
      if (inner.schedules === undefined) throw new Error("There are no schedules.");
      const now = Date.now();
      const store = { ...inner, schedules: { ...inner.schedules, latestSlot: async () => now - 30_000 } };
      const { ask } = await startServer({ store, agents: [], work: false });
      const { timezone: _, cron: __, ...asked } = daily;
      await ask("PUT", "/v1/schedules/once", { ...asked, at: new Date(now - 10_000).toISOString() });
      const { fired, nextAt } = (await ask("POST", "/v1/tick", {})).json;
      expect(fired).toBe(0);
      expect(nextAt).toBeGreaterThanOrEqual(now + 20_000);
    },
  );

  test(
    "a tick whose time is up takes no more, and two ticks have the places of one",
    verifies("TIME-4#schedules"),
    async () => {
      const store = createMemoryStore();
      const begun: (() => void)[] = [];
      const model = createScriptedModel(() => ({
        text: "Nothing.",
        wait: new Promise<void>((resolve) => begun.push(resolve)),
      }));
      const agent = createAgent({ name: "press", model, store });
      const { ask } = await startServer({ store, agents: [agent], work: false, limits: { runs: 1 } });
      for (const input of ["One.", "Two."]) await ask("POST", "/v1/sessions", { agent: "press", input });

      const tick = (maxMs: number) => ask("POST", `/v1/tick?maxMs=${maxMs}`, {});
      for (let ticks = 0; begun.length === 0 && ticks < 100; ticks += 1)
        expect((await tick(20)).json).toMatchObject({ isIdle: false });
      // The run of the first tick has the only place.
      expect((await tick(20)).json).toMatchObject({ driven: 0, isIdle: false });
      expect(begun).toHaveLength(1);

      const statuses = async () =>
        (await ask("GET", "/v1/sessions")).json.sessions
          .map(({ status }: { readonly status: string }) => status)
          .sort();
      begun[0]?.();
      await expect.poll(statuses).toContain("completed");
      expect(begun).toHaveLength(1);

      const last = ask("POST", "/v1/tick", {});
      await expect.poll(() => begun.length).toBe(2);
      begun[1]?.();
      expect((await last).json).toMatchObject({ driven: 1, isIdle: true });
      expect(await statuses()).toEqual(["completed", "completed"]);
    },
  );
});

describe("a tick", () => {
  test(
    "ends with the server, which takes nothing more and waits for what runs",
    verifies("TIME-4#schedules"),
    async () => {
      const store = createMemoryStore();
      const begun: (() => void)[] = [];
      const wait = () => new Promise<void>((resolve) => begun.push(resolve));
      const model = createScriptedModel(() => ({ text: "Nothing.", wait: wait() }));
      const agent = createAgent({ name: "press", model, store });
      const { ask, server } = await startServer({ store, agents: [agent], work: false, limits: { runs: 1 } });
      for (const input of ["One.", "Two."]) await ask("POST", "/v1/sessions", { agent: "press", input });
      const tick = ask("POST", "/v1/tick", {});
      await expect.poll(() => begun.length).toBe(1);
      await server.close({ graceMs: 0 });
      expect((await tick).json).toMatchObject({ driven: 1, isIdle: false });
      begun[0]?.();
      // Both are left to another process.
      expect(await store.due(Date.now(), 10)).toHaveLength(2);
      expect(begun).toHaveLength(1);
      expect(await ask("POST", "/v1/tick", {})).toMatchObject({ status: 503 });
    },
  );

  test(
    "has no worker of its own while an earlier tick still waits for the store",
    verifies("TIME-4#schedules"),
    async () => {
      const inner = createMemoryStore();
      const answered = createDeferred();
      let reads = 0;
      const store: Store = {
        ...inner,
        async due(...args) {
          reads += 1;
          if (reads === 1) await answered.promise;
          return inner.due(...args);
        },
      };
      const begun: (() => void)[] = [];
      const wait = () => new Promise<void>((resolve) => begun.push(resolve));
      const model = createScriptedModel(() => ({ text: "Nothing.", wait: wait() }));
      const agent = createAgent({ name: "press", model, store });
      const { ask } = await startServer({ store, agents: [agent], work: false, limits: { runs: 1 } });
      for (const input of ["One.", "Two."]) await ask("POST", "/v1/sessions", { agent: "press", input });
      const tick = async (maxMs: number) => (await ask("POST", `/v1/tick?maxMs=${maxMs}`, {})).json;
      expect(await tick(20)).toMatchObject({ driven: 0, isIdle: false });
      const second = tick(50_000);
      await expect.poll(() => begun.length).toBe(1);
      answered.resolve();
      expect(await tick(50)).toMatchObject({ driven: 0, isIdle: false });
      expect(begun).toHaveLength(1);
      begun[0]?.();
      await expect.poll(() => begun.length).toBe(2);
      begun[1]?.();
      expect(await second).toMatchObject({ driven: 2, isIdle: true });
    },
  );

  test(
    "works with a store that is an instance of a class, and logs what fails",
    verifies("TIME-4#schedules"),
    async () => {
      const inner = createMemoryStore();
      const store = createClassInstance(inner);
      const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Nothing." })), store });
      const { ask, lines } = await startServer({ store, agents: [agent], work: false });
      const { timezone: _, cron: __, ...asked } = daily;
      for (const id of ["once", "broken"])
        await ask("PUT", `/v1/schedules/${id}`, { ...asked, at: "2025-01-01T08:00:00Z" });
      const row = await inner.schedules?.get("broken");
      if (row == null) throw new Error("There is no row.");
      const body = { ...(row.body as object), when: { cron: "* * * * *" }, timezone: "Mars/Olympus" };
      await inner.schedules?.put({ ...row, rev: 2, body });
      expect((await ask("POST", "/v1/tick", {})).json).toMatchObject({ fired: 1, driven: 1 });
      expect(lines.filter(({ action }) => action === "work")).toMatchObject([
        { status: 500, error: expect.any(Error) },
      ]);
    },
  );
});

/** The same, with its methods on the prototype of a class, as stores of users may have them. */
function createClassInstance<Inner extends object>(inner: Inner): Inner {
  class Kept {
    readonly #inner = inner;
    call(name: string, args: readonly unknown[]): unknown {
      const method = Reflect.get(this.#inner, name) as (...values: readonly unknown[]) => unknown;
      return Reflect.apply(method, this.#inner, args);
    }
  }
  for (const [name, member] of Object.entries(inner))
    Object.defineProperty(Kept.prototype, name, {
      value:
        typeof member === "function"
          ? function (this: Kept, ...args: readonly unknown[]) {
              return this.call(name, args);
            }
          : createClassInstance(member as object),
    });
  return new Kept() as unknown as Inner;
}

describe("signals over HTTP", () => {
  test(
    "are refused without the option canSignal, and for principals and keys that it refuses",
    verifies("TIME-5"),
    async () => {
      const who = { "x-who": "shop signal" };
      const closed = await startServer({ authenticate });
      expect(await closed.ask("POST", "/v1/signals/paid", {}, who)).toMatchObject({ status: 404 });
      const canSignal = ({ key }: { readonly key: string }) => key.startsWith("shop/");
      const { ask, store } = await startServer({ authenticate, canSignal });
      expect(await ask("POST", "/v1/signals/paid", {}, who)).toMatchObject({
        status: 403,
        json: { error: { code: "signal_refused" } },
      });
      expect(await ask("POST", "/v1/signals/shop%2Fpaid", {}, { "x-who": "shop read" })).toMatchObject({ status: 403 });
      const send = () => ask("POST", "/v1/signals/shop%2Fpaid", { value: { cents: 5 }, id: "1" }, who);
      expect(await send()).toMatchObject({ status: 202, json: { id: "1", isNew: true } });
      expect(await send()).toMatchObject({ status: 202, json: { id: "1", isNew: false } });
      expect(await store.signals?.list(Date.now(), { limit: 10 })).toMatchObject([
        { key: "shop/paid", value: { cents: 5 }, by: "shop" },
      ]);
    },
  );
});

describe("a webhook", () => {
  const secret = "whsec_test";
  type Event = { readonly type: string; readonly order: string };
  const webhooks = {
    "/hooks/stripe": {
      verify: stripe(secret),
      signal: (value: unknown) => {
        const { type, order } = value as Event;
        return type === "paid" ? { key: `order-${order}-paid`, value: { order } } : null;
      },
    },
  };

  const sign = (body: string) => {
    const at = Math.floor(Date.now() / 1_000);
    return { "stripe-signature": `t=${at},v1=${createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")}` };
  };

  test("wakes the tool that waits for it, once, however often it is delivered", verifies("TIME-5"), async () => {
    const store = createMemoryStore();
    const agent = createDurableAgent(
      async ({ waitFor }) => {
        const paid = await waitFor("payment", { key: "order-1041-paid" });
        return paid.type === "signalled" ? `Paid: ${JSON.stringify(paid.value)} ${paid.id} ${paid.by}` : "Not paid.";
      },
      {},
      { name: "shop", store },
    );
    const { url, ask } = await startServer({ store, agents: [agent], webhooks });
    const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "shop", input: "Deliver." })).json;
    await expect.poll(async () => (await store.describe(sessionId))?.activity).toBe("waiting");
    const body = JSON.stringify({ id: "evt_1", type: "paid", order: "1041" });
    const deliver = (headers: Record<string, string>, text = body) =>
      fetch(`${url}/hooks/stripe`, { method: "POST", headers, body: text });
    const answers = await Promise.all([deliver(sign(body)), deliver(sign(body)), deliver(sign(body))]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    await expect.poll(async () => (await store.describe(sessionId))?.status).toBe("completed");
    const messages = JSON.stringify(await agent.session(sessionId).messages());
    expect(messages).toContain('Paid: {\\"order\\":\\"1041\\"} evt_1 webhook:/hooks/stripe');
    const other = JSON.stringify({ id: "evt_2", type: "refunded", order: "1041" });
    expect((await deliver(sign(other), other)).status).toBe(204);
  });

  test(
    "that does not verify is refused without a reason, and logged with one, once a minute",
    verifies("TIME-5"),
    async () => {
      const { url, lines, store } = await startServer({ webhooks, limits: { changesPerMinute: 1 } });
      const body = JSON.stringify({ id: "evt_1", type: "paid", order: "1041" });
      const deliver = (headers: Record<string, string>, text: string) =>
        fetch(`${url}/hooks/stripe`, { method: "POST", headers, body: text });
      for (const [headers, text] of [
        [{}, body],
        [sign(body), body.replace("1041", "1042")],
        [{ "stripe-signature": "t=1,v1=00" }, body],
      ] as const) {
        const response = await deliver(headers, text);
        expect(response.status).toBe(401);
        expect(await response.text()).toContain("The request could not be verified.");
      }
      const format = () => lines.map(({ action, status, error, count = 1 }) => [action, status, String(error), count]);
      const first = ["webhook", 401, "WebhookError: The header stripe-signature is missing or too long.", 1];
      expect(format()).toEqual([first]);
      const now = Date.now();
      vi.spyOn(Date, "now").mockImplementation(() => now + 60_000);
      onTestFinished(() => void vi.restoreAllMocks());
      await deliver(sign(body), body.replace("1041", "1042"));
      await deliver(sign(body), body.replace("1041", "1042"));
      expect(format()).toEqual([first, ["webhook", 401, "WebhookError: The signature does not match.", 3]]);
      expect((await deliver(sign("x"), "x".repeat(2 * 1024 * 1024))).status).toBe(413);
      expect(await store.signals?.list(Date.now(), { limit: 10 })).toEqual([]);
    },
  );

  test.each([
    ["nothing", undefined, /must return \{ key, value \} or null/],
    ["a field that there is not", { key: "a", valeu: 1 }, /has no option "valeu". Do you mean value\?/],
    ["a key that is not ASCII", { key: "größe" }, /printable ASCII/],
    ["a value of more than 64 KiB", { key: "a", value: "x".repeat(70_000) }, /value of the signal/],
  ])(
    "whose function returns %s is answered with 500, and the log says why",
    verifies("TIME-5"),
    async (_, signal, reason) => {
      const body = JSON.stringify({ id: "evt_1" });
      const { url, lines } = await startServer({
        webhooks: { "/hooks/stripe": { verify: stripe(secret), signal: () => signal as never } },
      });
      const response = await fetch(`${url}/hooks/stripe`, { method: "POST", headers: sign(body), body });
      expect(response.status).toBe(500);
      expect(await response.text()).not.toMatch(reason);
      expect(lines).toMatchObject([
        { action: "webhook", status: 500, error: { message: expect.stringMatching(reason) } },
      ]);
    },
  );

  test.each([
    [null],
    [{ "/v1/sessions": webhooks["/hooks/stripe"] }],
    [{ "/mcp": webhooks["/hooks/stripe"] }],
    [{ hooks: webhooks["/hooks/stripe"] }],
    [{ "/hooks/:id": webhooks["/hooks/stripe"] }],
    [{ "/hooks/x": { verify: stripe(secret) } }],
  ])("with a path or functions that cannot be used is refused: %j", verifies("TIME-5"), async (given) => {
    await expect(startServer({ webhooks: given as never })).rejects.toMatchObject({ code: "bad_configuration" });
  });
});
