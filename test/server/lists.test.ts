/**
 * Lists of sessions, and the stream of a whole page: what changes, what waits, and one session in it.
 */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createAgent, defineTool, type Store } from "../../src/index.js";
import { createHolder } from "../../src/platform/holder.js";
import type { FollowedFrame } from "../../src/server/client/index.js";
import type { May, Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { pay, withServer } from "./rig.js";

const payer = (store: Store) =>
  createAgent({
    name: "payer",
    store,
    model: createScriptedModel(({ messages }) =>
      messages.at(-1)?.role === "user" ? { calls: [{ name: "pay" }] } : { text: "Paid." },
    ),
    tools: [pay],
  });

/** Reads frames until one is found. */
async function until(followed: AsyncGenerator<FollowedFrame>, wanted: (data: Record<string, unknown>) => boolean) {
  for (;;) {
    const next = await followed.next();
    if (next.done === true) throw new Error("The stream has ended.");
    const data = next.value.frame.data as unknown as Record<string, unknown>;
    if (wanted(data)) return data;
  }
}

const people: { readonly [token: string]: Principal } = {
  ada: { id: "ada", scopes: ["read", "run", "approve"] },
  eve: { id: "eve", scopes: ["read", "run", "approve"] },
  bob: { id: "bob", scopes: ["read", "run"] },
};
const authenticate = (request: Request) => people[request.headers.get("authorization")?.slice(7) ?? ""] ?? null;

/** The store, and the names of its methods that were called. */
function countCalls(store: Store): { readonly store: Store; readonly calls: string[] } {
  const calls: string[] = [];
  const get = (target: Store, name: string | symbol) => {
    const member: unknown = Reflect.get(target, name);
    if (typeof member !== "function") return member;
    return (...values: unknown[]) => {
      calls.push(String(name));
      return Reflect.apply(member, target, values);
    };
  };
  return { store: new Proxy(store, { get }), calls };
}

describe.each(localStores)("lists on $name", ({ open }) => {
  test("do not count a session as held by a process that has died", verifies("SRV-1"), async () => {
    await withStore(open, (store) =>
      withServer({ store }, async ({ ask }) => {
        const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Done." })) });
        for (const sessionId of ["alive", "dead"]) await agent.run("Go", { sessionId });
        const own = createHolder();
        const gone = { ...createHolder(), pid: spawnSync(process.execPath, ["--version"]).pid };
        const lease = { now: Date.now(), leaseMs: 60_000 };
        for (const [sessionId, holder] of [["alive", own] as const, ["dead", gone] as const])
          expect(await store.claim(sessionId, { holder, ...lease })).toMatchObject({ type: "claimed" });
        const { sessions } = (await ask("GET", "/v1/sessions")).json;
        const held = sessions.map((one: { sessionId: string; isHeld: boolean }) => [one.sessionId, one.isHeld]);
        expect(Object.fromEntries(held)).toEqual({ alive: true, dead: false });
        expect((await ask("GET", "/v1/sessions/dead")).json).toMatchObject({ isHeld: false });
      }),
    );
  });

  test("find sessions by words of their title and by id, page by page", verifies("SRV-1"), async () => {
    await withStore(open, (store) =>
      withServer({ store }, async ({ ask }) => {
        const model = createScriptedModel(() => ({ text: "Done." }));
        const agent = createAgent({ name: "writer", store, model });
        const inputs = ["Tidy the kitchen", "Paint the fence", "Tidy the attic", "Feed the cat"];
        for (const [index, input] of inputs.entries()) await agent.run(input, { sessionId: `s${index}` });
        const find = async (query: string) => {
          const ids: string[] = [];
          for (let cursor = ""; ; ) {
            const page = (await ask("GET", `/v1/sessions?limit=1&${query}${cursor}`)).json;
            ids.push(...page.sessions.map(({ sessionId }: { sessionId: string }) => sessionId));
            if (page.next === null) return ids.toSorted();
            cursor = `&cursor=${page.next}`;
          }
        };
        expect(await find("q=tidy")).toEqual(["s0", "s2"]);
        expect(await find("q=S3")).toEqual(["s3"]);
        expect(await find("q=nobody")).toEqual([]);
        expect(await find("q=the&agent=writer")).toEqual(["s0", "s1", "s2", "s3"]);
        expect(await find("q=the&agent=other")).toEqual([]);
      }),
    );
  });

  test("are one query of the store for a page, with the newest run of each session, its questions and children", async () => {
    await withStore(open, async (store) => {
      // The newest is first, and no two may be equally new.
      const clock = createTestClock(Date.now());
      const lead = createAgent({
        name: "lead",
        store,
        clock,
        tools: [payer(store).asTool({ name: "payer", description: "Pays." })],
        model: createScriptedModel(({ messages }) =>
          messages.at(-1)?.role === "user"
            ? { calls: [{ name: "payer", input: { task: "Pay." } }] }
            : { text: "Done." },
        ),
      });
      const writer = createAgent({
        name: "writer",
        store,
        clock,
        model: createScriptedModel(() => ({ text: "Done." })),
      });
      for (const index of [1, 2, 3]) {
        await writer.run("Write.", { sessionId: `w${index}`, runId: `run ${index}` });
        await clock.advance(1);
      }
      await lead.run("Go.", { sessionId: "lead" });
      const counted = countCalls(store);
      await withServer({ store: counted.store }, async ({ ask }) => {
        const list = async (query: string) => {
          counted.calls.length = 0;
          const { sessions } = (await ask("GET", `/v1/sessions?${query}`)).json;
          return { sessions, calls: [...counted.calls] };
        };
        const all = await list("");
        expect(all.calls).toEqual(["list"]);
        expect(all.sessions).toMatchObject([
          { sessionId: "lead", hasChildren: true, questions: 0 },
          { sessionId: "w3", hasChildren: false, questions: 0, lastRun: { runId: "run 3", steps: 1 } },
          { sessionId: "w2" },
          { sessionId: "w1" },
        ]);
        expect(await list("q=w1")).toMatchObject({ calls: ["list"], sessions: [{ sessionId: "w1" }] });
        const children = await list("parent=lead");
        expect(children.sessions).toMatchObject([{ hasChildren: false, questions: 1, lastRun: { steps: 1 } }]);
        // The top session says whose they are.
        expect(children.calls).toEqual(["list", "describe"]);
      });
    });
  });

  test("show no question for a tool that sleeps", async () => {
    await withStore(open, async (store) => {
      const wait = defineTool({
        name: "wait",
        description: "Waits for a day.",
        input: { type: "object" },
        durable: true,
        execute: async (_input, { sleep }) => {
          await sleep("a day", { ms: 86_400_000 });
          return "Done.";
        },
      });
      const model = createScriptedModel([{ calls: [{ name: "wait" }] }]);
      const { status } = await createAgent({ name: "sleeper", store, model, tools: [wait] }).run("Wait.");
      expect(status).toBe("waiting");
      await withServer({ store }, async ({ ask }) => {
        expect((await ask("GET", "/v1/sessions")).json.sessions).toMatchObject([{ questions: 0 }]);
      });
    });
  });

  test("of a principal with few sessions among those of others take few queries", async () => {
    await withStore(open, async (store) => {
      const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Done." })) });
      for (let number = 0; number < 12; number += 1) await agent.run("Go", { sessionId: `s${number}` });
      let queries = 0;
      const counted: Store = {
        ...store,
        list: (options) => {
          queries += 1;
          return store.list(options);
        },
      };
      const may: May = (_principal, _action, session) => session?.id === "s1";
      await withServer({ store: counted, work: false, may }, async ({ ask }) => {
        queries = 0;
        expect((await ask("GET", "/v1/sessions?q=s&limit=1")).json).toMatchObject({ sessions: [{ sessionId: "s1" }] });
        expect(queries).toBeLessThanOrEqual(2);
      });
    });
  });

  test("one stream tells what changes, how many calls wait, and a session", verifies("SRV-1"), async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [payer(store)] }, async ({ ask, follow }) => {
        const first = (await ask("POST", "/v1/sessions", { agent: "payer", input: "Pay." })).json;
        await ask("GET", `/v1/sessions/${first.sessionId}/runs/${first.runId}?wait=30`);
        const list = follow(`/v1/stream?session=${first.sessionId}`);
        const opened = await until(list, ({ type }) => type === "list_open");
        expect(opened).toEqual({ type: "list_open", approvals: { count: 1, more: false } });
        const second = (await ask("POST", "/v1/sessions", { agent: "payer", input: "Pay." })).json;
        await until(
          list,
          ({ type, session }) =>
            type === "session" && (session as { sessionId: string }).sessionId === second.sessionId,
        );
        expect(await until(list, ({ type }) => type === "approvals")).toMatchObject({ count: 2 });
        const { callKey, inputHash } = (await ask("GET", `/v1/approvals?session=${first.sessionId}`)).json.approvals[0];
        const path = `/v1/sessions/${first.sessionId}/answers`;
        await ask("POST", path, { callKey, inputHash, decision: { type: "approve" } });
        const told = new Set<unknown>();
        await until(list, ({ type, count }) => {
          told.add(type === "approvals" ? `approvals ${count}` : type);
          return told.has("final") && told.has("approvals 1");
        });
        await list.return(undefined);
      }),
    );
  });

  test("tells a principal only of its own", verifies("SEC-3#server"), async () => {
    await withStore(open, (store) =>
      withServer({ store, agents: [payer(store)], authenticate }, async ({ ask, follow }) => {
        const eve = follow("/v1/stream", { token: "eve" });
        const bob = follow("/v1/stream", { token: "bob" });
        const ada = follow("/v1/stream", { token: "ada" });
        expect(await until(ada, () => true)).toEqual({ type: "list_open", approvals: { count: 0, more: false } });
        expect(await until(eve, () => true)).toMatchObject({ type: "list_open" });
        expect(await until(bob, () => true)).toEqual({ type: "list_open", approvals: null });
        const begin = (name: string) =>
          ask("POST", "/v1/sessions", { agent: "payer", input: "Pay." }, { authorization: `Bearer ${name}` });
        const mine = (await begin("ada")).json.sessionId;
        await until(ada, ({ type, count }) => type === "approvals" && count === 1);
        const others = (await begin("eve")).json.sessionId;
        const seen: unknown[] = [];
        await until(eve, (data) => {
          seen.push(data);
          return data.type === "approvals" && data.count === 1;
        });
        expect(JSON.stringify(seen)).toContain(others);
        expect(JSON.stringify(seen)).not.toContain(mine);
        const last = (await begin("bob")).json.sessionId;
        const told = await until(bob, ({ type }) => type === "session");
        expect(told).toMatchObject({ session: { sessionId: last } });
        const refused = await ask("GET", `/v1/stream?session=${mine}`, undefined, { authorization: "Bearer eve" });
        expect(refused).toMatchObject({ status: 404, json: { error: { code: "no_session" } } });
        for (const one of [ada, bob, eve]) await one.return(undefined);
      }),
    );
  });
});
