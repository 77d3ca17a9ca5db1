/**
 * Where a secret may be and where not, from a tool's input to the file on disk.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAgent, createMemoryStore, createRedaction, defineTool } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const secret = "horse-battery-staple-42";

type Deps = { readonly secrets: ReadonlyMap<string, string> };

/** The model names the secret; the tool alone knows it. */
const signIn = (seen: string[]) =>
  defineTool({
    name: "sign_in",
    description: "Signs in with the secret of that name.",
    input: { type: "object", properties: { with: { type: "string" } }, required: ["with"] },
    execute({ with: name }, { deps }) {
      const value = (deps as Deps).secrets.get(String(name));
      if (value === undefined) throw new Error(`There is no secret ${String(name)}.`);
      seen.push(value);
      return "signed in";
    },
  });

describe("a secret that a handle stands for", () => {
  test("is known within the tool, and nowhere else", verifies("SEC-14"), async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-secrets-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = await openSqliteStore({ path: join(folder, "sessions.db") });
    const watched: unknown[] = [];
    const seen: string[] = [];
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "sign_in", input: { with: "lab" } }] }, { text: "Done." }]),
      tools: [signIn(seen)],
      deps: { secrets: new Map([["lab", secret]]) } satisfies Deps,
      observers: [
        {
          traceContent: true,
          onEvent: (event) => watched.push(event),
          onDelta: (delta) => watched.push(delta),
          onTrace: (record) => watched.push(record),
        },
      ],
      store,
    });
    expect(await agent.run("Sign in.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Done." });
    expect(seen).toEqual([secret]);
    expect(JSON.stringify(watched)).toContain('"with":"lab"');
    expect(JSON.stringify([watched, await traceSession(store, "s", { content: true })])).not.toContain(secret);
    await store.close();
    for (const file of readdirSync(folder)) expect(readFileSync(join(folder, file)).includes(secret)).toBe(false);
  });
});

describe("a redaction", () => {
  const spill = defineTool({
    name: "spill",
    description: "Says what it should not.",
    input: { type: "object" },
    execute: () => `the key is ${secret}`,
  });
  const steps = [{ calls: [{ name: "spill" }] }, { text: `It is ${secret}.` }] as const;

  test("by value is applied to traces, and not to what the model is shown", verifies("TRC-2", "SEC-14"), async () => {
    const store = createMemoryStore();
    const traced: unknown[] = [];
    const asked: unknown[] = [];
    const scripted = createScriptedModel(steps);
    const redact = createRedaction({ values: [secret] });
    const agent = createAgent({
      model: {
        ...scripted,
        stream(request, signal) {
          asked.push(request.messages);
          return scripted.stream(request, signal);
        },
      },
      tools: [spill],
      observers: [{ traceContent: true, onTrace: (record) => traced.push(record) }],
      redact,
      store,
    });
    await agent.run(`Spill ${secret}`, { sessionId: "s" });
    expect(JSON.stringify(traced)).not.toContain(secret);
    expect(JSON.stringify(traced)).toContain("the key is [redacted]");
    expect(JSON.stringify(traced)).toContain("It is [redacted].");
    expect(JSON.stringify(asked)).toContain(`the key is ${secret}`);
    expect(JSON.stringify(await store.read("s"))).toContain(secret);
    expect(await traceSession(store, "s", { redact, content: true })).toEqual(traced);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["gives no text", () => undefined as unknown as string],
  ])("that %s shows nothing, and the run goes on", verifies("TRC-2"), async (_, redact) => {
    const traced: unknown[] = [];
    const observers = [{ traceContent: true, onTrace: (record: unknown) => traced.push(record) }];
    const agent = createAgent({ model: createScriptedModel(steps), tools: [spill], observers, redact });
    expect(await agent.run("Spill", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(traced).toHaveLength(4);
    expect(JSON.stringify(traced)).not.toContain(secret);
    expect(traced[0]).toMatchObject({ input: "[redacted]" });
  });

  test("is applied to what is said of an observer that fails", verifies("TRC-2"), async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const onEvent = () => {
      throw new Error(`cannot write with sk-ant-${"k".repeat(30)}`);
    };
    await createAgent({ model: createScriptedModel([{ text: "Hi." }]), observers: [{ name: "writer", onEvent }] }).run(
      "Hi",
    );
    expect(String(warned.mock.calls[0]?.[0])).toContain("writer failed (cannot write with sk-ant-[redacted])");
  });
});
