/**
 * A session that another process deletes: the streams of it end.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, type Store } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

describe.runIf(hasPostgres)("a session in PostgreSQL that another process deletes", () => {
  const server = usePostgres(["fsync=off"]);

  async function open(url: string): Promise<Store> {
    const store = await openPostgresStore({ url });
    onTestFinished(() => store.close());
    return store;
  }

  test("ends its streams", verifies("STRM-3"), async () => {
    const url = await createDatabase(server());
    const [store, other] = [await open(url), await open(url)];
    const model = createScriptedModel(() => ({ text: "Done." }));
    const agent = createAgent({ name: "writer", model, store });
    await agent.run("Go.", { sessionId: "s" });
    const items = agent.session("s").events();
    for (let next = await items.next(); next.value?.type !== "final"; next = await items.next());
    const next = items.next();
    await other.delete("s", { now: Date.now() });
    await expect(next).rejects.toMatchObject({ code: "no_session" });
  });
});
