/**
 * Web Push over HTTP: who may subscribe a browser.
 */
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { createNotices } from "../../src/notices/index.js";
import { createSubscriber } from "../notices/push-service.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

const proven = verifies("TIME-6#push");
const push = { contact: "mailto:ops@example.org" };
const secret = "0123456789abcdef0123456789abcdef";

async function createBench(options: Partial<Parameters<typeof startTestServer>[0]> = {}) {
  const store = createMemoryStore();
  const rig = await startTestServer({ store, agents: [], notices: createNotices([], { push }), secret, ...options });
  const { p256dh, auth } = createSubscriber();
  const subscription = { endpoint: "https://push.example.org/abc", p256dh, auth };
  const readKey = async () => (await rig.ask("GET", "/v1/push")).json.publicKey as string;
  const stored = async () => (await store.notices?.destinations()) ?? [];
  return { rig, store, subscription, readKey, stored };
}

describe("a browser", () => {
  test("subscribes with the server's key, and unsubscribes", proven, async () => {
    const { rig, subscription, readKey, stored } = await createBench();
    const publicKey = await readKey();
    expect(Buffer.from(publicKey, "base64url")).toHaveLength(65);
    expect((await rig.ask("POST", "/v1/push/subscribe", { ...subscription, publicKey })).status).toBe(204);
    expect((await stored()).map(({ body }) => body)).toMatchObject([{ ...subscription, vapid: { publicKey } }]);
    const { endpoint } = subscription;
    expect((await rig.ask("POST", "/v1/push/unsubscribe", { endpoint })).status).toBe(204);
    expect(await stored()).toEqual([]);
  });

  test("without a token, or without the scope read, is refused", proven, async () => {
    const authenticate = (request: Request) =>
      request.headers.get("authorization") === null ? null : ({ id: "ann", scopes: ["run"] } as const);
    const { rig, subscription, stored } = await createBench({ authenticate });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ ...subscription, publicKey: "A" }) };
    expect((await fetch(`${rig.url}/v1/push/subscribe`, init)).status).toBe(401);
    expect((await fetch(`${rig.url}/v1/push`)).status).toBe(401);
    expect((await rig.ask("POST", "/v1/push/subscribe", { ...subscription, publicKey: "A" })).status).toBe(403);
    expect(await stored()).toEqual([]);
  });

  test("with the key of another server, or to a private address, is refused", proven, async () => {
    const { rig, subscription, readKey, stored } = await createBench();
    const publicKey = await readKey();
    for (const wrong of [{ publicKey: "A" }, { endpoint: "https://10.1.2.3/abc" }, { auth: "A" }]) {
      const answer = await rig.ask("POST", "/v1/push/subscribe", { ...subscription, publicKey, ...wrong });
      expect([answer.status, answer.json.error.code]).toEqual([400, "bad_input"]);
    }
    expect(await stored()).toEqual([]);
  });

  test("is refused if `may` does not allow push, but can still unsubscribe", proven, async () => {
    let isAllowed = true;
    const asked: unknown[] = [];
    const may = (_: unknown, action: string, session: unknown) => {
      asked.push([action, session]);
      return isAllowed;
    };
    const { rig, subscription, readKey, stored } = await createBench({ may });
    const publicKey = await readKey();
    expect((await rig.ask("POST", "/v1/push/subscribe", { ...subscription, publicKey })).status).toBe(204);
    expect(asked).toEqual([
      ["push", null],
      ["push", null],
    ]);
    isAllowed = false;
    expect((await rig.ask("GET", "/v1/push")).status).toBe(403);
    const renewed = await rig.ask("POST", "/v1/push/subscribe", { ...subscription, publicKey });
    expect([renewed.status, renewed.json.error.code]).toEqual([403, "forbidden"]);
    const { endpoint } = subscription;
    expect((await rig.ask("POST", "/v1/push/unsubscribe", { endpoint })).status).toBe(204);
    expect(await stored()).toEqual([]);
  });

  test("gets notices of its own principal, unless that has the scope admin", proven, async () => {
    const authenticate = (request: Request) => {
      const isAdmin = request.headers.get("x-who") === "root";
      return isAdmin
        ? ({ id: "root", scopes: ["read", "admin"] } as const)
        : ({ id: "ann", scopes: ["read"] } as const);
    };
    const { rig, subscription, readKey, stored } = await createBench({ authenticate });
    const body = JSON.stringify({ ...subscription, publicKey: await readKey() });
    for (const [who, isForAll] of [
      ["ann", false],
      ["root", true],
    ] as const) {
      const headers = { "content-type": "application/json", "x-who": who };
      expect((await fetch(`${rig.url}/v1/push/subscribe`, { method: "POST", headers, body })).status).toBe(204);
      expect((await stored()).map(({ body: kept }) => kept)).toMatchObject([{ owner: who, isForAll }]);
    }
  });
});

test("the key is the same in all servers with one secret, and there is none without push", proven, async () => {
  const [one, same, other, none] = [
    await createBench(),
    await createBench(),
    await createBench({ secret: `${secret}0` }),
    await createBench({ notices: createNotices([]) }),
  ];
  expect(await one.readKey()).toBe(await same.readKey());
  expect(await one.readKey()).not.toBe(await other.readKey());
  expect(await none.readKey()).toBeNull();
  const answer = await none.rig.ask("POST", "/v1/push/subscribe", { ...none.subscription, publicKey: "A" });
  expect(answer.status).toBe(404);
});
