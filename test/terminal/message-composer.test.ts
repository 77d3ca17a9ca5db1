/**
 * Messages that mention resources of MCP servers, with servers that answer when the test lets them.
 */
import { expect, test } from "vitest";
import { createCompletion } from "../../src/cli/conversation/fronts/completion.js";
import { createMessageComposer } from "../../src/cli/conversation/message-composer.js";
import type { StartedServer } from "../../src/cli/mcp/start-servers.js";
import type { TypedArgument } from "../../src/cli/mcp/typed-argument.js";
import * as edit from "../../src/cli/screen/draft.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import type { UserPart } from "../../src/index.js";
import type { McpResourceContent, McpServer } from "../../src/tools/mcp/index.js";
import { verifies } from "../verifies.js";

type Read = {
  readonly uri: string;
  readonly signal: AbortSignal | undefined;
  readonly answer: (contents: readonly McpResourceContent[]) => void;
  readonly refuse: (why: Error) => void;
};

/** A composer with the server `docs`, whose reads stay open, and `off`, which is not trusted. */
function createDesk() {
  const reads: Read[] = [];
  const [sent, failures, activities]: [(readonly UserPart[])[], string[], (string | null)[]] = [[], [], []];
  const read: McpServer["read"] = (uri, { signal } = {}) =>
    new Promise((answer, refuse) => {
      reads.push({ uri, signal, answer, refuse });
      signal?.addEventListener("abort", () => refuse(new Error("aborted")));
    });
  const docs = { name: "docs", off: null, server: { name: "docs", read } };
  const off = { name: "off", off: "its file is not trusted: pawl trust", server: null };
  const composer = createMessageComposer({
    root: import.meta.dirname,
    mayReach: () => true,
    servers: { all: [docs, off] as unknown as readonly StartedServer[] },
    onProblem: (problem) => failures.push(problem),
    onActivity: (activity) => activities.push(activity?.name ?? null),
    fail: (error) => failures.push((error as Error).message),
  });
  const send = (text: string) => composer.compose(text, text, (input) => sent.push(input));
  return { composer, send, reads, sent, failures, activities };
}

/** Lets what waits for settled promises run. */
const settle = () => new Promise((done) => setImmediate(done));

test("what was typed later is sent later, and a picture joins as a file", verifies("CHAT-1#paths"), async () => {
  const { send, reads, sent, failures, activities } = createDesk();
  send("look at @docs:note://a, and @docs:note://b");
  send("and then this");
  await settle();
  expect(sent).toEqual([]);
  expect(activities).toEqual(["waits for docs"]);
  expect(reads.map(({ uri }) => uri)).toEqual(["note://a", "note://b"]);
  reads[1]?.answer([{ uri: "note://b", type: "data", mediaType: "image/png", data: "AQI=" }]);
  reads[0]?.answer([{ uri: "note://a", type: "text", text: "\u001b[2Jline" }]);
  await settle();
  const [first, second] = sent;
  expect(first?.slice(1)).toEqual([
    {
      type: "text",
      text: expect.stringMatching(/^The resource note:\/\/a of the MCP server docs:\n```\n.*line\n```$/),
    },
    { type: "file", mediaType: "image/png", data: "AQI=", filename: "note://b" },
  ]);
  expect(JSON.stringify(first)).not.toContain("\\u001b");
  expect(second).toEqual([{ type: "text", text: "and then this" }]);
  expect([failures, activities]).toEqual([[], ["waits for docs", null]]);
  send("at once");
  expect(sent).toHaveLength(3);
});

test("nothing is sent if a resource cannot be read, and what joined it joins the next message", {
  ...verifies("CHAT-1#paths"),
}, async () => {
  const { composer, send, reads, sent, failures } = createDesk();
  composer.join({ type: "text", text: "joined" });
  send("@docs:note://a");
  await settle();
  reads[0]?.refuse(new Error("there is no such note"));
  await settle();
  send("@off:note://a");
  await settle();
  send("@docs:note://b");
  await settle();
  expect(composer.stop()).toBe(true);
  await settle();
  expect(composer.stop()).toBe(false);
  expect(sent).toEqual([]);
  expect(failures).toEqual([
    "@docs:note://a cannot be read, so nothing was sent: there is no such note",
    "@off:note://a cannot be read, so nothing was sent: The MCP server off is off: its file is not trusted: pawl trust.",
    "@docs:note://b cannot be read, so nothing was sent: you have stopped the request",
  ]);
  send(Array.from({ length: 21 }, (_, at) => `@docs:note://${at}`).join(" "));
  await settle();
  expect(failures.at(-1)).toMatch(
    /mentions 21 resources of MCP servers, but at most 20 are allowed\. Nothing was sent\.$/,
  );
  expect(reads).toHaveLength(2);
  send("@unknown:note://a and me@docs:x");
  expect(sent[0]?.map((part) => (part.type === "text" ? part.text : ""))).toEqual([
    "@unknown:note://a and me@docs:x",
    "joined",
  ]);
});

test("a long resource is cut, and says so", verifies("CHAT-1#paths"), async () => {
  const { send, reads, sent } = createDesk();
  send("@docs:note://a");
  await settle();
  reads[0]?.answer([{ uri: "note://a", type: "text", text: "x".repeat(100_000) }]);
  await settle();
  const part = sent[0]?.[1];
  const text = part?.type === "text" ? part.text : "";
  expect(text).toMatch(/^The resource note:\/\/a of the MCP server docs, its beginning:\n/);
  expect(text.length).toBeLessThan(66_000);
});

test("completion offers resources beside files, and prompts beside commands", verifies("CHAT-1#paths"), async () => {
  const talk = {
    custom: [],
    fileNames: async () => Array.from({ length: 300 }, (_, at) => `guide/${at}.md`),
    resourceNames: async () => ["docs:note://guide", "docs:note://other"],
    prompts: async () => [
      { name: "docs:review", takes: "what [how]", about: "Reviews it.", arguments: ["what", "how"] },
    ],
    argumentValues: async () => [],
  };
  const completion = createCompletion(
    () => talk,
    () => {},
  );
  const draft = (text: string) => edit.insert(edit.emptyDraft, text);
  const hints = (text: string) => completion.hints(draft(text), 80).map(toPlainText).join("\n");
  hints("@");
  hints("/");
  await settle();
  expect(hints("@gui")).toBe("guide/0.md  guide/1.md  guide/2.md  guide/3.md  docs:note://guide  … tab");
  expect(completion.complete(draft("see @note://gu"))).toMatchObject({ draft: { text: "see @docs:note://guide " } });
  const found = completion.complete(draft("@d"));
  expect(found?.type === "choose" ? found.choices.slice(-2).map(({ id }) => id) : found).toEqual([
    "docs:note://guide",
    "docs:note://other",
  ]);
  expect(hints("/do")).toBe("/docs:review");
  expect(completion.complete(draft("/do"))).toMatchObject({ draft: { text: "/docs:review " } });
  expect(hints("/docs:review the plan")).toBe("/docs:review what [how] · Reviews it.");
});

test(
  "completion asks a server for the values of arguments, one request at a time",
  verifies("CHAT-1#paths"),
  async () => {
    const asked: { typed: TypedArgument; answer: (values: readonly string[]) => void }[] = [];
    const talk = {
      custom: [],
      fileNames: async () => [],
      resourceNames: async () => [
        "docs:note://{id}",
        "docs:file:///{+path}.md",
        "docs:pair://{a}/{b}",
        "docs:note://1",
      ],
      prompts: async () => [
        { name: "docs:review", takes: "what [how]", about: "Reviews it.", arguments: ["what", "how"] },
      ],
      argumentValues: (typed: TypedArgument) =>
        new Promise<readonly string[]>((answer) => void asked.push({ typed, answer })),
    };
    const completion = createCompletion(
      () => talk,
      () => {},
    );
    const draft = (text: string) => edit.insert(edit.emptyDraft, text);
    const hints = (text: string) => completion.hints(draft(text), 80).map(toPlainText).join("\n");
    const values = async (text: string, ...found: readonly string[]) => {
      hints(text);
      asked.at(-1)?.answer(found);
      await settle();
      return completion.complete(draft(text));
    };
    hints("/");
    hints("@");
    await settle();

    const usage = "/docs:review what [how] · Reviews it.";
    expect(hints("/docs:review ")).toBe(usage);
    // The first request is under way.
    expect(hints("/docs:review q")).toBe(usage);
    expect(asked).toHaveLength(1);
    asked[0]?.answer(["all"]);
    await settle();
    expect(await values("/docs:review q", "quality", "quick look")).toMatchObject({
      draft: { text: "/docs:review qu" },
    });
    expect(hints("/docs:review q")).toBe(`${usage}\nquality  quick look`);
    expect(await values("/docs:review qu", "quick look")).toMatchObject({
      draft: { text: '/docs:review "quick look" ' },
    });
    const briefly = await values('/docs:review "the plan" "br', "briefly");
    expect(briefly).toMatchObject({ draft: { text: '/docs:review "the plan" briefly ' } });
    expect(asked.at(-1)?.typed).toEqual({
      server: "docs",
      of: { prompt: "review" },
      name: "how",
      value: "br",
      others: { what: "the plan" },
    });
    const count = asked.length;
    for (const text of ['/docs:review "the plan"', "/docs:review a b c", "/docs:other a", "docs:review a"])
      expect(completion.complete(draft(text)), text).toBeNull();
    expect(asked).toHaveLength(count);

    expect(hints("@docs:")).toBe("docs:note://{id}  docs:file:///{+path}.md  docs:note://1");
    expect(completion.complete(draft("@docs:f"))).toMatchObject({ draft: { text: "@docs:file:///" } });
    expect(await values("@docs:note://a%20", "a b/c")).toMatchObject({ draft: { text: "@docs:note://a%20b%2Fc " } });
    expect(asked.at(-1)?.typed).toEqual({ server: "docs", of: { template: "note://{id}" }, name: "id", value: "a " });
    expect(await values("@docs:file:///g", "guide/a b")).toMatchObject({
      draft: { text: "@docs:file:///guide/a%20b.md " },
    });
  },
);
