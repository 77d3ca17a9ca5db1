/**
 * Notices to browsers by Web Push: how they are encrypted, who gets them, and where they may go.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  createSchedules,
  createWorker,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { createNotices, createOutbox } from "../../src/notices/index.js";
import { encryptPush } from "../../src/notices/web-push.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { verifies } from "../verifies.js";
import { createSubscriber, startPushService } from "./push-service.js";
import { local } from "./receiver.js";

const proven = verifies("TIME-6#push");
const contact = "mailto:ops@example.org";
const seed = "the server's key";
const dayMs = 86_400_000;

type Given = { readonly endpoint: string; readonly p256dh: string; readonly auth: string };

/** A worker that sends to browsers. The agent's runs wait for an approval; "Fail." makes one fail. */
function createBench(options = local) {
  const store = createMemoryStore();
  const clock = createTestClock();
  const model = createScriptedModel(({ messages }) =>
    JSON.stringify(messages).includes("Fail.")
      ? { error: { kind: "invalid_request", message: "no secret 4711" } }
      : { calls: [{ name: "pay", input: { question: "Pay Mallory?" } }] },
  );
  const pay = {
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    needsApproval: true,
    execute: () => "ok",
  };
  const agent = createAgent({ name: "cashier", model, tools: [pay], store, clock });
  const notices = createNotices([], { push: { contact, ...options } });
  const { push } = notices;
  if (push === undefined) throw new Error("There is no push.");
  const reports: WorkerReport[] = [];
  const worker = createWorker({ store, agents: [agent], clock, notices, onReport: (report) => reports.push(report) });
  /** @param owner absent: somebody who may see all */
  const subscribe = (given: Given, owner?: string) => subscribeTo(store, given, owner);
  const subscribeTo = (to: Store, given: Given, owner?: string) =>
    push.subscribe(to, { ...given, seed, owner: owner ?? "root", isForAll: owner === undefined, now: clock.now() });
  return {
    store,
    clock,
    agent,
    push,
    worker,
    reports,
    subscribe,
    subscribeTo,
    outbox: createOutbox({ store }),
    schedules: createSchedules({ store, clock }),
  };
}

describe("a push", () => {
  test("is encrypted as in the example of RFC 8291", proven, () => {
    const subscription = {
      p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      auth: "BTBZMqHH6r4Tts7J_aSIgg",
    };
    const encrypted = encryptPush("When I grow up, I want to be a watermelon", subscription, {
      salt: Buffer.from("DGv6ra1nlYgDCS1FRnbzlw", "base64url"),
      privateKey: Buffer.from("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "base64url"),
    });
    expect(Buffer.from(encrypted).toString("base64url")).toBe(
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
    );
  });

  test("has the title and a link of what waits, has failed or was missed, and nothing else", proven, async () => {
    const bench = createBench();
    const { pushes, failures, subscription, origin } = await startPushService();
    expect(await bench.subscribe(subscription)).toBe("subscribed");
    await bench.agent.run("Pay.", { sessionId: "s/1" });
    await bench.agent.run("Fail.", { sessionId: "s2" });
    await bench.schedules.put({ id: "tick", everyMs: 60_000, agent: "cashier", input: "Pay." });
    await bench.schedules.put({ id: "each", cron: "* * * * *", agent: "cashier", input: "Pay." });
    await bench.clock.advance(300 * 60_000);
    await bench.worker.runUntilIdle();
    expect(failures).toEqual([]);
    expect(pushes.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        { title: "cashier waits for you: pay", link: "#/sessions/s%2F1" },
        { title: "A run of cashier failed", link: "#/sessions/s2" },
        { title: "The schedule tick missed 299 of its times", link: "#/schedules" },
        { title: "The schedule each missed at least 199 of its times", link: "#/schedules" },
      ]),
    );
    for (const { headers, claims } of pushes) {
      expect(claims).toMatchObject({ aud: origin, sub: contact });
      expect(claims.exp).toBeGreaterThan(bench.clock.now() / 1_000);
      expect(claims.exp).toBeLessThanOrEqual(bench.clock.now() / 1_000 + 86_400);
      expect(headers).toMatchObject({ "content-encoding": "aes128gcm", ttl: "86400" });
    }
    expect(await bench.outbox.list()).toEqual([]);
  });

  test("is not sent for a run that ends well", proven, async () => {
    const bench = createBench();
    const { pushes, subscription } = await startPushService();
    await bench.subscribe(subscription);
    const model = createScriptedModel([{ text: "Done." }]);
    await createAgent({ name: "clerk", model, store: bench.store }).run("Go.", { sessionId: "s" });
    await bench.worker.runUntilIdle();
    expect(pushes).toEqual([]);
    expect(await bench.outbox.list()).toEqual([]);
  });

  test("goes to the principal of its session, and to those that may see all", proven, async () => {
    const bench = createBench();
    const [ann, bob, root] = [await startPushService(), await startPushService(), await startPushService()];
    await bench.subscribe(ann.subscription, "ann");
    await bench.subscribe(bob.subscription, "bob");
    await bench.subscribe(root.subscription);
    const at = bench.clock.now() + 1_000;
    await bench.schedules.put({ id: "once", at, agent: "cashier", input: "Pay.", principal: "ann" });
    await bench.agent.run("Pay.", { sessionId: "t" });
    await bench.clock.advance(1_000);
    await bench.worker.runUntilIdle();
    expect([ann, bob, root].map(({ pushes }) => pushes.length)).toEqual([1, 0, 2]);
    const { endpoint } = ann.subscription;
    expect(await bench.push.unsubscribe(bench.store, { endpoint, owner: "bob" })).toBe(false);
    expect(await bench.push.unsubscribe(bench.store, { endpoint, owner: "ann" })).toBe(true);
    expect(await bench.outbox.destinations()).toHaveLength(2);
  });

  test("is tried again like a webhook, and stays listed as dead", proven, async () => {
    const bench = createBench();
    const { pushes, subscription } = await startPushService(() => 503);
    await bench.subscribe(subscription);
    await bench.agent.run("Fail.", { sessionId: "s" });
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await bench.worker.runUntilIdle();
      expect(pushes).toHaveLength(attempt);
      await bench.clock.advance(1.2 * dayMs);
    }
    expect(await bench.outbox.list({ isDead: true })).toMatchObject([
      { sessionId: "s", tries: 8, error: "The destination answered 503." },
    ]);
  });

  test.each([404, 410])("that is answered %i ends the subscription", proven, async (status) => {
    const bench = createBench();
    const { pushes, subscription } = await startPushService(() => status);
    await bench.subscribe(subscription);
    await bench.agent.run("Pay.", { sessionId: "s" });
    await bench.agent.run("Pay.", { sessionId: "t" });
    await bench.worker.runUntilIdle();
    expect(pushes.length).toBeGreaterThan(0);
    expect(await bench.outbox.destinations()).toEqual([]);
    expect(await bench.outbox.list()).toEqual([]);
    expect(bench.reports.filter(({ type }) => type === "notice_failed")).toEqual([]);
  });
});

describe("a subscription", () => {
  const keys = () => {
    const { p256dh, auth } = createSubscriber();
    return { p256dh, auth };
  };

  test.each([
    ["http", "http://push.example.org/abc"],
    ["a private address", "https://10.0.0.1/abc"],
    ["the metadata service of a cloud", "https://169.254.169.254/abc"],
    ["this machine", "https://localhost/abc"],
    ["this machine over IPv6", "https://[::1]/abc"],
    ["an address that is allowed, but public, over http", "http://93.184.216.34/abc"],
    ["a user name", "https://a:b@push.example.org/abc"],
    ["no URL", "push"],
    ["a file", "file:///etc/passwd"],
    ["more than 2,000 characters", `https://push.example.org/${"a".repeat(2_000)}`],
  ])("to %s is refused", proven, async (_, endpoint) => {
    const bench = createBench({ allowAddresses: ["93.184.216.34"] });
    expect(await bench.subscribe({ endpoint, ...keys() })).toBe("refused");
    expect(await bench.outbox.destinations()).toEqual([]);
  });

  test("without valid keys is refused", proven, async () => {
    const bench = createBench();
    const endpoint = "https://push.example.org/abc";
    const { p256dh, auth } = keys();
    const offCurve = Buffer.alloc(65, 1).toString("base64url");
    for (const given of [
      { p256dh, auth: "AAAA" },
      { p256dh: "AAAA", auth },
      { p256dh: offCurve, auth },
    ])
      expect(await bench.subscribe({ endpoint, ...given })).toBe("refused");
    expect(await bench.subscribe({ endpoint, p256dh, auth })).toBe("subscribed");
  });

  test("whose host has a private address gets nothing", proven, async () => {
    const bench = createBench({ allowAddresses: [] });
    const { pushes, subscription } = await startPushService();
    // As a row that an older configuration allowed.
    const allowing = createBench();
    await allowing.subscribeTo(bench.store, subscription);
    await bench.agent.run("Pay.", { sessionId: "s" });
    await bench.worker.runUntilIdle();
    expect(pushes).toEqual([]);
    expect(bench.reports).toContainEqual(
      expect.objectContaining({
        type: "notice_failed",
        sessionId: "s",
        error: expect.objectContaining({ message: expect.stringContaining("push.allowAddresses") }),
      }),
    );
  });

  test("to an address that only webhooks may go to is refused", proven, async () => {
    const { push } = createNotices([], { ...local, push: { contact } });
    const { subscription } = await startPushService();
    const given = { ...subscription, seed, owner: "ann", isForAll: false, now: 0 };
    expect(await push?.subscribe(createMemoryStore(), given)).toBe("refused");
  });

  test("of the same browser is one, and ends 30 days after it was renewed", proven, async () => {
    const bench = createBench();
    const { pushes, subscription } = await startPushService();
    await bench.subscribe(subscription);
    await bench.clock.advance(20 * dayMs);
    await bench.subscribe(subscription);
    expect(await bench.outbox.destinations()).toHaveLength(1);
    await bench.clock.advance(20 * dayMs);
    await bench.agent.run("Pay.", { sessionId: "s" });
    await bench.worker.runUntilIdle();
    expect(pushes).toHaveLength(1);
    await bench.clock.advance(10 * dayMs);
    await bench.worker.runUntilIdle();
    expect(await bench.outbox.destinations()).toEqual([]);
  });

  test("is removed when it is over, also by a worker that sends to no browsers", proven, async () => {
    const bench = createBench();
    const { subscription } = await startPushService();
    await bench.subscribe(subscription);
    await bench.agent.run("Pay.", { sessionId: "s" });
    const worker = createWorker({ store: bench.store, agents: [], clock: bench.clock, notices: createNotices([]) });
    await bench.clock.advance(29 * dayMs);
    await worker.runUntilIdle();
    expect(await bench.outbox.destinations()).toHaveLength(1);
    await bench.agent.run("Pay.", { sessionId: "t" });
    await bench.clock.advance(dayMs);
    await worker.runUntilIdle();
    expect([await bench.outbox.destinations(), await bench.outbox.list()]).toEqual([[], []]);
  });

  test(
    "too many of a principal takes the place of its oldest, and a store takes no more than 500",
    proven,
    async () => {
      const bench = createBench();
      const given = keys();
      const add = async (name: string, principal: string) => {
        await bench.clock.advance(1);
        return bench.subscribe({ endpoint: `https://push.example.org/${name}`, ...given }, principal);
      };
      for (let index = 0; index < 21; index += 1) expect(await add(`ann-${index}`, "ann")).toBe("subscribed");
      const endpoints = async () =>
        ((await bench.store.notices?.destinations()) ?? []).map(({ body }) => (body as { endpoint: string }).endpoint);
      expect(await endpoints()).toHaveLength(20);
      expect(await endpoints()).not.toContain("https://push.example.org/ann-0");
      for (let index = 0; index < 480; index += 1) expect(await add(`p${index}`, `p${index % 100}`)).toBe("subscribed");
      expect(await add("new", "new")).toBe("full");
      expect(await add("ann-new", "ann")).toBe("subscribed");
      expect(await endpoints()).toHaveLength(500);
    },
  );

  test("is counted with those that come at the same time", proven, async () => {
    const bench = createBench();
    const given = keys();
    const add = (name: string, owner: string) =>
      bench.subscribe({ endpoint: `https://push.example.org/${name}`, ...given }, owner);
    await Promise.all(Array.from({ length: 30 }, (_, index) => add(`ann-${index}`, "ann")));
    expect(await bench.outbox.destinations()).toHaveLength(20);
    await Promise.all(Array.from({ length: 490 }, (_, index) => add(`p${index}`, `p${index}`)));
    expect((await bench.outbox.destinations()).length).toBeLessThanOrEqual(500);
  });

  test("that the store cannot read holds up no other", proven, async () => {
    const bench = createBench();
    const { pushes, subscription } = await startPushService();
    await bench.store.notices?.addDestination("push.damaged", { kind: "later" });
    await bench.subscribe(subscription);
    await bench.agent.run("Pay.", { sessionId: "s" });
    await bench.worker.runUntilIdle();
    expect(pushes).toHaveLength(1);
  });
});

test.each([
  [[{ id: "push.mine", url: "https://a.example.org", secret: "whsec_" }], {}, /"push\.mine" is reserved/],
  [[], { push: { contact: "ops" } }, /push\.contact is "ops"/],
  [[], { push: { contact, more: 1 } as { contact: string } }, /more/],
])("the configuration is checked: %#", proven, (destinations, options, message) => {
  expect(() => createNotices(destinations, options)).toThrow(message);
});
