/**
 * Every route at a server that carries out nothing, beside one that does, on one file: each is answered as by the holder.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { verifies } from "../verifies.js";
import { createRigOptions, requestsByRoute } from "./every-route.js";
import type { OpenApiDocument } from "./open-api-checks.js";
import { startTestServer } from "./rig.js";

test("every route is answered where the session is not held", verifies("SRV-1", "SRV-3"), async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-routes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const open = async () => {
    const store = await openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    onTestFinished(() => store.close());
    return createRigOptions(store);
  };
  const [holding, other] = [await open(), await open()];
  await startTestServer(holding);
  const rig = await startTestServer({ ...other, work: false });
  const { paths } = (await rig.ask("GET", "/openapi.json")).json as OpenApiDocument;
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // What is between processes has tests of its own.
  expect(Object.keys(requestsByRoute).toSorted()).toEqual(routes.filter((one) => !one.includes("/v1/live")).toSorted());
  for (const [route, request] of Object.entries(requestsByRoute))
    expect((await request(rig.ask, rig)).status, route).toBeLessThan(300);
  const all = (await rig.ask("GET", "/v1/sessions?limit=500")).json.sessions as readonly {
    readonly sessionId: string;
  }[];
  // A run was carried out although this server carries out none.
  expect(all.length).toBeGreaterThan(20);
});
