import { afterAll, describe, expect, test } from "vitest";
import { encodeText } from "../../src/core/data/text-bytes.js";
import { blobsOf } from "../../src/core/index.js";
import { createAgent, defineTool, type Message, type Model, type Store } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";
import { expectTable } from "../support/docs-page.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const page = {
  file: "guide/large-outputs.md",
  command: "PAWL_WRITE_DOCS=1 npx vitest run test/context/large-outputs.long.test.ts",
  columns: ["What the tool gave", "What the model saw", "Kept whole"],
} as const;

type Case = { readonly name: string; readonly make: () => unknown; readonly text?: (given: unknown) => string };

const asText = (given: unknown) => String(given);

/** Bytes without order, the same in each run. */
function noise(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let seed = 1;
  for (let index = 0; index < length; index++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    bytes[index] = seed >>> 16;
  }
  return bytes;
}

const cases: readonly Case[] = [
  {
    name: "30 MB of text, in lines of 100 bytes",
    make: () =>
      Array.from({ length: 300_000 }, (_, n) => `${String(n).padStart(9, "0")} ${"log ".repeat(22)}.`).join("\n"),
    text: asText,
  },
  { name: "One line of 10 MB", make: () => "0123456789".repeat(1_000_000), text: asText },
  {
    name: "1,000,000 short lines",
    make: () => Array.from({ length: 1_000_000 }, (_, n) => `line ${n}\n`).join(""),
    text: asText,
  },
  { name: "One line of 1 MB in Chinese, with emoji", make: () => "数据🎉".repeat(100_000), text: asText },
  { name: "1 MB of control characters", make: () => "\u0000\u0001\u001b".repeat(333_334), text: asText },
  { name: "Halves of characters (lone surrogates), 900 kB", make: () => "\ud83d-\udc00".repeat(128_572), text: asText },
  {
    name: "JSON of 5 MB",
    make: () => Array.from({ length: 100_000 }, (_, row) => ({ row, name: "n".repeat(30) })),
    text: (given) => JSON.stringify(given),
  },
  { name: "3 MB of bytes that are no text", make: () => noise(3_000_000) },
  {
    name: "A PNG image of 2 MB",
    make: () => Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), noise(2_000_000)]),
  },
];

type Page = { readonly head: string; readonly body: string };

/** Reads an output page by page to its end, or as far as it is asked to. */
function reader(output: number, most: number): { readonly model: Model; readonly pages: Page[] } {
  const pages: Page[] = [];
  const ask = (place: object): ScriptedStep => ({ calls: [{ name: "read_output", input: { output, ...place } }] });
  const model = createScriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "tool") return ask({});
    const [head = "", ...lines] = shownText(last).split("\n");
    pages.push({ head, body: lines.join("\n") });
    const [, place, number] = /continue with (fromLine|fromByte) (\d+)/.exec(head) ?? [];
    return place === undefined || pages.length === most ? { text: head } : ask({ [place]: Number(number) });
  });
  return { model, pages };
}

function shownText(message: Message | undefined): string {
  const part = message?.role === "tool" ? message.parts[0] : undefined;
  return part?.output.type === "text" ? part.output.text : JSON.stringify(part?.output);
}

/** The bytes that a model was shown in hexadecimal. */
function bytesOfHex(pages: readonly Page[]): Buffer {
  const lines = pages.flatMap(({ body }) => body.split("\n").map((line) => line.slice(8).replaceAll(" ", "")));
  return Buffer.from(lines.join(""), "hex");
}

type Shown = { readonly saw: string; readonly back: string };

async function show({ make, text }: Case, store: Store): Promise<Shown> {
  const given = make();
  const give = defineTool({ name: "give", description: "Gives.", input: { type: "object" }, execute: () => given });
  const scripted = createScriptedModel([{ calls: [{ name: "give" }] }, { text: "Seen." }]);
  const model = { ...scripted, takesInResults: () => false };
  expect(await createAgent({ model, tools: [give], store }).run("Go", { sessionId: "s" })).toMatchObject({
    text: "Seen.",
  });
  const saw = shownText(scripted.requests[1]?.messages.at(-1));
  expect(Buffer.byteLength(saw)).toBeLessThan(52_000);
  const output = Number(/as output (\d+)/.exec(saw)?.[1]);

  const reading = reader(output, mostPages);
  const agent = createAgent({ model: reading.model, tools: [give], store, toolOutput: { maxBytes: 800_000 } });
  expect(await agent.run("Read it", { sessionId: "s" })).toMatchObject({ status: "completed" });
  const blob = await blobIn(store, output);
  const whole = text === undefined ? Buffer.from(given as Uint8Array) : Buffer.from(encodeText(text(given)));
  expect(Buffer.compare(blob, whole)).toBe(0);
  const { pages } = reading;
  const read = text === undefined ? bytesOfHex(pages) : Buffer.from(encodeText(pages.map(({ body }) => body).join("")));
  expect(Buffer.compare(read, whole.subarray(0, read.length))).toBe(0);
  expect(pages.length === mostPages || read.length === whole.length).toBe(true);
  expect(await store.verify("s")).toEqual([]);
  return { saw, back: `${blob.length} bytes` };
}

/** Of what takes more pages the first ones are read through the tool, and all of it from the store. */
const mostPages = 4;

async function blobIn(store: Store, seq: number): Promise<Buffer> {
  const [entry] = await store.read("s", seq - 1, 1);
  const [hash = ""] = entry === undefined ? [] : blobsOf(entry.event);
  return Buffer.from((await store.getBlob("s", hash)) ?? []);
}

/** Its first and last characters, and what stands in the place of the others. */
function inShort(text: string): string {
  const mark = /\[… left out here: [^\]]* …\]/.exec(text)?.[0];
  const visible = (part: string) =>
    part.replace(/[\p{Cc}\p{Surrogate}`]/gu, (one) =>
      one === "\n" ? "⏎" : `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  if (mark === undefined) return `\`${visible(text)}\``;
  const [, tail = ""] = text.split(mark);
  const [end = "", note = ""] = tail.split(/(?=\n\[The whole)/);
  return `\`${visible(text.slice(0, 24))}… ${mark} …${visible(end.slice(-24))}${visible(note)}\``;
}

const rows = new Map<string, Shown>();

describe.each(cases)("$name", (one) => {
  test.each(localStores)("is cut for the model, and kept whole ($name)", verifies("TOOL-9"), async ({ open }) => {
    await withStore(open, async (store) => {
      const shown = await show(one, store);
      expect(shown).toEqual(rows.get(one.name) ?? shown);
      rows.set(one.name, shown);
    });
  });
});

test("the page says the same", () => {
  expect(rows.size).toBe(cases.length);
  expectTable(
    page,
    "What a model sees",
    [...rows].map(([name, { saw, back }]) => [name, inShort(saw), back]),
  );
});

afterAll(() => rows.clear());
