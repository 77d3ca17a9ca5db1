/**
 * Finding a text in a session over HTTP.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { withServer } from "./rig.js";

const read = defineTool({
  name: "read_file",
  description: "Reads a file.",
  input: { type: "object" },
  execute: ({ path }) => `${String(path)} has a Needle in it, and a key: sk-ant-api03-${"a".repeat(40)}`,
});

async function session(store: Store) {
  const model = createScriptedModel([
    { reasoning: "Where may the needle be?", calls: [{ name: "read_file", input: { path: "hay/NEEDLE.txt" } }] },
    { text: `${"hay ".repeat(100)}needle ${"hay ".repeat(100)}` },
  ]);
  await createAgent({ store, model, tools: [read] }).run("Find the needle.", { sessionId: "s", runId: "r" });
}

describe("find", () => {
  test("gives each event with the text, in whatever case, with the words around it", async () => {
    const store = createMemoryStore();
    await session(store);
    await withServer({ store, work: false }, async ({ ask }) => {
      const { matches, next } = (await ask("GET", "/v1/sessions/s/find?q=needle")).json;
      expect(matches).toMatchObject([
        { where: "request", type: "run_started", runId: "r", before: "Find the ", match: "needle", after: "." },
        { where: "reasoning", modelCallIndex: 1 },
        { where: "call", name: "read_file", callKey: "r/1/1", match: "NEEDLE" },
        {
          where: "result",
          callKey: "r/1/1",
          match: "NEEDLE",
          after: ".txt has a Needle in it, and a key: sk-ant-[redacted]",
        },
        { where: "text", modelCallIndex: 2 },
      ]);
      expect(matches[4].before.length).toBeLessThanOrEqual(60);
      expect(matches[4].after.length).toBeLessThanOrEqual(120);
      expect(next).toBeNull();
      // Secrets cannot be found, and neither can what is not there.
      for (const q of ["sk-ant-api03", "nothing of this kind"])
        expect((await ask("GET", `/v1/sessions/s/find?q=${q}`)).json.matches).toEqual([]);
    });
  });

  test("goes on where a page ends, and gives each match once", async () => {
    const store = createMemoryStore();
    await session(store);
    await withServer({ store, work: false }, async ({ ask }) => {
      const places: string[] = [];
      for (let after: string | null = "0"; after !== null; ) {
        const page: { matches: { seq: number; index: number }[]; next: string | null } = (
          await ask("GET", `/v1/sessions/s/find?q=needle&limit=2&after=${after}`)
        ).json;
        places.push(...page.matches.map(({ seq, index }) => `${seq}.${index}`));
        after = page.next;
      }
      expect(places).toHaveLength(5);
      expect(new Set(places).size).toBe(5);
    });
  });

  test("needs a text, and a session that may be read", async () => {
    const store = createMemoryStore();
    await session(store);
    await withServer({ store, work: false }, async ({ ask }) => {
      expect((await ask("GET", "/v1/sessions/s/find")).status).toBe(400);
      expect((await ask("GET", `/v1/sessions/s/find?q=${"x".repeat(201)}`)).status).toBe(400);
      expect((await ask("GET", "/v1/sessions/other/find?q=x")).status).toBe(404);
    });
  });
});
