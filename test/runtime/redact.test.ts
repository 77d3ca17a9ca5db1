import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  createRedaction,
  type Hook,
  redactJson,
  redactOutput,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const redact = createRedaction();
const letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3";

describe("what is shown", () => {
  test.each([
    `sk-ant-${letters}`,
    `sk-proj-${letters}`,
    `sk-${letters}`,
    `sk_live_${letters}`,
    `AIza${letters}`,
    "AKIAIOSFODNN7EXAMPLE",
    `ghp_${letters}`,
    `github_pat_${letters}`,
    `glpat-${letters}`,
    `npm_${letters}`,
    `gsk_${letters}`,
    `hf_${letters}`,
    `xoxb-${letters}`,
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.${letters}`,
    `Bearer ${letters}`,
    "postgres://ada:correct-horse@db.example/app",
    `-----BEGIN RSA PRIVATE KEY-----\n${letters}\n${letters}\n-----END RSA PRIVATE KEY-----`,
  ])("has no key of a known shape: %s", verifies("TRC-2", "SEC-14"), (secret) => {
    const shown = redact(`before ${secret} after`);
    expect(shown).toMatch(/^before .*\[redacted\].* after$/s);
    for (const piece of [letters, "correct-horse", "IOSFODNN7EXAMPLE"]) expect(shown).not.toContain(piece);
  });

  test.each([
    "a task-force of skilled people",
    "https://example.com/a:b@c",
    "See src/tools/mcp/index.ts:12",
    "Basic usage of the API",
    "sk-short",
    "commit 0123456789abcdef0123456789abcdef01234567",
  ])("keeps what is no secret: %s", (text) => {
    expect(redact(text)).toBe(text);
  });

  test("has no secret that was named, nor a part of one that another one begins with", verifies("SEC-14"), () => {
    const own = createRedaction({ values: ["hunter2", "hunter2-and-more", "it"], shapes: [/\bcard \d+/g] });
    expect(own("it is hunter2-and-more, or hunter2, for card 4242")).toBe(
      "it is [redacted], or [redacted], for [redacted]",
    );
  });

  test("is redacted in every text of a value, keys included", () => {
    const own = createRedaction({ values: ["hunter2"] });
    expect(redactJson({ hunter2: ["x", { deep: "is hunter2" }, 3, null] }, own)).toEqual({
      "[redacted]": ["x", { deep: "is [redacted]" }, 3, null],
    });
  });

  test("stays what it is when it is redacted again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(redact(redact(text))).toBe(redact(text));
      }),
    );
  });

  test("is redacted in linear time: a megabyte of what almost matches", verifies("SEC-15"), () => {
    for (const almost of [
      "sk-",
      "eyJ",
      "a:",
      "://a:",
      "-----BEGIN ",
      "Bearer ",
      "xoxb-",
      "eyJaaaaaaaaaa.",
      "eyJ-",
      "eyJaaaaaaaaaa-",
    ])
      expect(redact(almost.repeat(1_000_000 / almost.length)).length).toBeGreaterThan(0);
  });
});

test("a hook that masks outputs reaches data, parts and text files, not texts alone", verifies("SEC-14"), async () => {
  const redact = createRedaction({ values: ["hunter2"] });
  const file = (text: string) =>
    ({ type: "file", mediaType: "text/csv", data: Buffer.from(text).toString("base64") }) as const;
  const tools = [
    { name: "text", description: "t", input: { type: "object" }, execute: () => "is hunter2" },
    { name: "data", description: "d", input: { type: "object" }, execute: () => ({ a: [{ hunter2: "is hunter2" }] }) },
    {
      name: "parts",
      description: "p",
      input: { type: "object" },
      execute: () => ({ type: "content", parts: [{ type: "text", text: "is hunter2" }, file("a;hunter2")] }),
    },
  ];
  const model = createScriptedModel([{ calls: tools.map(({ name }) => ({ name })) }, { text: "Done." }]);
  const store = createMemoryStore();
  const mask: Hook = {
    name: "mask",
    onFailure: "closed",
    afterToolCall: ({ output }) => ({ output: redactOutput(output, redact) }),
  };
  await createAgent({ model, tools, hooks: [mask], store }).run("Go.", { sessionId: "s" });
  const log = JSON.stringify(await store.read("s"));
  expect(log).not.toContain("hunter2");
  expect(log).not.toContain(Buffer.from("a;hunter2").toString("base64"));
  expect(log.match(/\[redacted\]/g)?.length).toBeGreaterThan(3);
});
