/**
 * The OpenAPI document: valid, the same as in the docs, and every route keeps to it.
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { errorCodes, PawlError } from "../../src/index.js";
import { serverCodes } from "../../src/server/index.js";
import { ServerError, statusOf, toErrorResponse } from "../../src/server/server-error.js";
import { verifies } from "../verifies.js";
import { beginSession, createRigOptions, requestsByRoute } from "./every-route.js";
import { createResponseCheck, listCodes, listStatuses, type OpenApiDocument } from "./open-api-checks.js";
import { type Rig, startTestServer } from "./rig.js";

const rigOfAll = () => startTestServer(createRigOptions());

const documentOf = async ({ ask }: Rig) => (await ask("GET", "/openapi.json")).json as OpenApiDocument;

describe("the OpenAPI document", () => {
  test("is valid, and describes what each answer is made of", verifies("SRV-1"), async () => {
    const rig = await rigOfAll();
    const document = await documentOf(rig);
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { responses }] of Object.entries(methods))
        for (const [status, answer] of Object.entries(responses))
          if (status !== "default" && status !== "204" && status !== "202" && !path.startsWith("/v1/live"))
            expect(answer.content, `${method} ${path} ${status}`).toBeDefined();
  });

  // `npx vitest run -u test/server/open-api.test.ts` writes the file anew.
  test("is the one in the docs", verifies("SRV-1"), async () => {
    const document = await documentOf(await rigOfAll());
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../docs/openapi.json");
  });

  test("has a request for every route, and its answer fits", verifies("SRV-1"), async () => {
    const rig = await rigOfAll();
    const document = await documentOf(rig);
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // What is between processes has tests of its own.
    const open = routes.filter((route) => !route.includes("/v1/live"));
    expect(Object.keys(requestsByRoute).toSorted()).toEqual(open.toSorted());
    for (const [route, request] of Object.entries(requestsByRoute)) {
      const { status } = await request(rig.ask, rig);
      const [method = "", path = ""] = route.split(" ");
      const { responses } = document.paths[path]?.[method.toLowerCase()] ?? { responses: {} };
      expect(Object.keys(responses), route).toContain(String(status));
      expect(status, route).toBeLessThan(300);
    }
  });

  test("is kept to by errors, too: each code has its status", verifies("SRV-1"), async () => {
    const { ask } = await rigOfAll();
    const { id } = await beginSession(ask, "Go.");
    const errors = [
      [await ask("GET", "/nowhere"), "not_found"],
      [await ask("DELETE", "/v1/sessions"), "method_not_allowed"],
      [await ask("GET", "/v1/sessions/none"), "no_session"],
      [await ask("POST", "/v1/sessions", { agent: "none", input: "x" }), "bad_input"],
      [await ask("GET", "/v1/sessions?cursor=x"), "bad_cursor"],
      [await ask("GET", `/v1/sessions/${id}/runs/none`), "no_such_run"],
      [await ask("POST", `/v1/sessions/${id}/steer`, { input: "x" }), "run_finished"],
      [await ask("POST", `/v1/sessions/${id}/results`, { callKey: "r/1/1", output: 1 }), "no_such_call"],
    ] as const;
    for (const [{ status, json }, code] of errors) {
      expect(json.error.code).toBe(code);
      expect(status, code).toBe(statusOf[code]);
      expect(JSON.stringify(json)).not.toMatch(/ at \w+ \(|\.[tj]s:\d/);
    }
  });
});

/** The codes by their status. What is in no row is 500. */
const table: { readonly [status: number]: readonly string[] } = {
  400: ["bad_input", "bad_cursor", "not_storable", "unknown_model", "unknown_handoff", "bad_schedule"],
  401: ["unauthorized"],
  403: ["forbidden", "signal_refused"],
  404: ["no_session", "no_such_call", "no_such_run", "no_schedule", "not_found"],
  405: ["method_not_allowed"],
  408: ["too_slow"],
  409: [
    "session_busy",
    "session_active",
    "run_finished",
    "agent_mismatch",
    "root_mismatch",
    "newer_format",
    "older_format",
    "schedule_exists",
    "schedule_full",
  ],
  413: ["too_large"],
  415: ["unsupported_media_type"],
  429: ["too_many", "signal_full"],
  503: ["draining", "shut_down", "store_failed", "store_closed", "keys_unavailable"],
};

describe("an error's code", () => {
  const all = [...errorCodes, ...serverCodes];
  const statusIn = (code: string) =>
    Number(Object.entries(table).find(([, codes]) => codes.includes(code))?.[0] ?? 500);

  test("has one status in the table, the document and the answer", verifies("SRV-1"), async () => {
    const document = await documentOf(await rigOfAll());
    expect(Object.values(table).flat().toSorted()).toEqual(Object.keys(statusOf).toSorted());
    expect(listCodes(document).toSorted()).toEqual(all.toSorted());
    expect(listStatuses(document)).toEqual(Object.fromEntries(all.map((code) => [code, statusIn(code)])));
    for (const code of errorCodes)
      expect(toErrorResponse(new PawlError(code, "m"), "r").status, code).toBe(statusIn(code));
    for (const code of serverCodes)
      expect(toErrorResponse(new ServerError(code, "m"), "r").status, code).toBe(statusIn(code));
  });

  test.each(all)("%s: the answer has no more than its message, and says when to come back", (code) => {
    const path = "/home/somebody/secret.ts";
    const error = new PawlError(code as never, `failed at ${path}`, { cause: new Error(path) });
    const { status, body, headers, cause } = toErrorResponse(error, "r");
    expect(Object.keys(body.error)).toEqual(["code", "message", "docs", "requestId"]);
    expect(body.error.docs).toBe(`docs/errors.md#${code}`);
    // What is nobody's mistake but ours is told to the log alone.
    expect(body.error.message.includes(path)).toBe(status < 500);
    expect(cause === undefined).toBe(status < 500);
    expect(headers["retry-after"] === undefined).toBe(status !== 503);
  });
});

test("the check of answers finds what does not fit", async () => {
  const rig = await rigOfAll();
  const check = createResponseCheck(await documentOf(rig));
  const answer = { method: "GET", path: "/health", status: 200, type: "application/json" };
  expect(check({ ...answer, text: '{"ok":true}' })).toBe("GET /health");
  expect(() => check({ ...answer, text: '{"ok":false}' })).toThrow("does not fit");
  expect(() => check({ ...answer, text: '{"ok":true,"more":1}' })).toThrow("does not fit");
  expect(() => check({ ...answer, type: "text/html", text: "" })).toThrow("should be application/json");
  expect(() => check({ ...answer, status: 302, text: "" })).toThrow("not described");
  expect(() => check({ ...answer, status: 404, text: '{"error":{}}' })).toThrow("does not fit");
  expect(() => check({ ...answer, path: "/nowhere", status: 404, text: "{}" })).toThrow("does not fit");
  const error = (code: string) => JSON.stringify({ error: { code, message: "m", docs: "d", requestId: "r" } });
  expect(check({ ...answer, path: "/nowhere", status: 404, text: error("not_found") })).toBeNull();
  expect(() => check({ ...answer, path: "/nowhere", status: 404, text: error("nothing") })).toThrow("does not fit");
  expect(() => check({ ...answer, path: "/nowhere", status: 404, text: error("forbidden") })).toThrow("the status 403");
});
