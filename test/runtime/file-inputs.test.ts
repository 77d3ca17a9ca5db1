/**
 * Files of an input, in whichever form a program has them.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type InputPart } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const proven = verifies("LOOP-11");
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "base64");
const base64 = png.toString("base64");

function start() {
  const store = createMemoryStore();
  const model = createScriptedModel(() => ({ text: "A dot." }));
  return { agent: createAgent({ name: "looker", model, store }), model, store };
}

const forms: readonly (readonly [string, unknown, object])[] = [
  ["a Buffer", { data: png }, { data: base64, mediaType: "image/png" }],
  [
    "a Uint8Array that is a part of a larger buffer",
    { data: new Uint8Array([0, ...png, 0]).subarray(1, -1) },
    { data: base64, mediaType: "image/png" },
  ],
  ["an ArrayBuffer", { data: new Uint8Array(png).buffer }, { data: base64, mediaType: "image/png" }],
  ["a Blob", { data: new Blob([png], { type: "image/png" }) }, { data: base64, mediaType: "image/png" }],
  [
    "a File, with its name",
    { data: new File(["a;b"], "rows.csv") },
    { data: "YTti", mediaType: "text/csv", filename: "rows.csv" },
  ],
  [
    "a URL",
    { data: new URL("https://example.com/a/dot.PNG?size=1") },
    { data: "https://example.com/a/dot.PNG?size=1", mediaType: "image/png" },
  ],
  ["a data URL", { data: `data:image/png;base64,${base64}` }, { data: base64, mediaType: "image/png" }],
  ["a data URL with text", { data: "data:,a%20b" }, { data: "YSBi", mediaType: "text/plain" }],
  ["base64", { data: base64 }, { data: base64, mediaType: "image/png" }],
  [
    "bytes with a name",
    { data: Buffer.from("# Hello"), filename: "notes.md" },
    { data: "IyBIZWxsbw==", mediaType: "text/markdown" },
  ],
  [
    "a media type that is named",
    { data: Buffer.from("x"), mediaType: "text/x-log" },
    { data: "eA==", mediaType: "text/x-log" },
  ],
];

describe("a file of an input may be", () => {
  test.each(forms)("%s", async (_name, given, wanted) => {
    const { agent, model } = start();
    const part = { type: "file", ...(given as object) } as InputPart;
    const result = await agent.run([{ type: "text", text: "What is it?" }, part]);
    expect(result).toMatchObject({ status: "completed" });
    expect(model.requests[0]?.messages[0]?.parts[1]).toEqual({
      type: "file",
      ...wanted,
      ...("filename" in (given as object) ? { filename: (given as { filename: string }).filename } : {}),
    });
  });
});

test("a Blob is taken by streams, sends, steers' messages and clients as well", proven, async () => {
  const { agent, model, store } = start();
  const input = [{ role: "user", parts: [{ type: "file", data: new Blob([png]) }] }] as const;
  for await (const _ of agent.runStream(input, { sessionId: "streamed" }));
  const { runId } = await agent.session("sent").send(input);
  await agent
    .session("sent")
    .resume()
    .catch(() => {});
  expect(await agent.session("sent").result(runId)).toMatchObject({ status: "completed" });
  await createClient({ store }).session("posted").send(input, { agent: "looker" });
  await agent.session("posted").resume();
  const sent = model.requests.map(({ messages }) => messages[0]?.parts);
  expect(sent).toEqual([1, 2, 3].map(() => [{ type: "file", data: base64, mediaType: "image/png" }]));
});

const refusals: readonly (readonly [unknown, RegExp])[] = [
  [
    { type: "file", data: Buffer.from("hello") },
    /Part 1 of the input is a file without `mediaType`.*mediaType: 'text\/csv'/,
  ],
  [{ type: "file", mediaType: "image/png", data: "./photo.png" }, /neither base64 nor a URL.*await readFile\(path\)/],
  [{ type: "file", mediaType: "image/png", data: new URL("file:///tmp/a.png") }, /neither http\(s\) nor data/],
  [{ type: "file", mediaType: "image/png" }, /`data` that is missing; it must be bytes, a Blob, a URL or base64/],
  [{ type: "file", mediaType: "png", data: png }, /`mediaType` that is "png"/],
  [{ type: "image", image: png }, /has the type "image"\. An image is a file/],
  [{ type: "file", data: new Uint8Array(700_000), mediaType: "image/png" }, /has 700000 bytes; the maximum is 675000/],
  [{ type: "file", data: new Blob([new Uint8Array(700_000)]), mediaType: "image/png" }, /has 700000 bytes/],
  [{ type: "text", text: 7 }, /`text` that is a number/],
];

test.each(refusals)("%o is refused, and the error says what to do", async (part, message) => {
  const { agent } = start();
  const error = await (async () => agent.run([part as InputPart]))().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "bad_input", message: expect.stringMatching(message) });
});

test("half a megabyte of spaces that is not base64 is refused at once", async () => {
  const { agent } = start();
  const part = { type: "file", mediaType: "image/png", data: `${" ".repeat(500_000)}!` } as const;
  const error = await (async () => agent.run([part]))().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "bad_input", message: expect.stringContaining("neither base64 nor a URL") });
});
