/**
 * What a provider is documented to refuse is not sent: the real packages against servers that refuse as their providers do.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, type FilePart, type Message } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/ai-sdk/adapter.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";
import { collectDeltas, createRequest, createUserMessage, requireLastDelta } from "./collect.js";
import { startProviderServer } from "./provider-server.js";

const uint32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
const base64 = (...bytes: readonly (string | readonly number[])[]) =>
  Buffer.concat(
    bytes.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  ).toString("base64");

const png = (width: number, height = width, more = 0): string =>
  base64("\x89PNG\r\n\x1a\n", uint32(13), "IHDR", uint32(width), uint32(height), new Array(more).fill(7));
const gif = (width: number) => base64("GIF89a", [width & 255, width >> 8, width & 255, width >> 8], [0, 0, 0]);
const jpeg = (width: number, metadata = 60_000) =>
  base64([0xff, 0xd8, 0xff, 0xe1, metadata >> 8, metadata & 255], new Array(metadata - 2).fill(1), [
    0xff,
    0xc2,
    0,
    17,
    8,
    width >> 8,
    width & 255,
    width >> 8,
    width & 255,
    3,
    0,
    0,
  ]);
const webp = (width: number) =>
  base64(
    "RIFF",
    uint32(0),
    "WEBPVP8X",
    [10, 0, 0, 0, 0, 0, 0, 0, (width - 1) & 255, (width - 1) >> 8, 0],
    [1, 0, 0, 0],
  );

const file = (data: string, filename: string, mediaType = "image/png"): FilePart => ({
  type: "file",
  mediaType,
  data,
  filename,
});
const message = (...parts: readonly FilePart[]): Message => ({
  role: "user",
  parts: [{ type: "text", text: "See" }, ...parts],
});

type Sent = { readonly type: string; readonly [name: string]: unknown };

/** All objects in a request, at any depth. */
function objectsIn(value: unknown): readonly Sent[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Sent, ...inner];
}

function sizeOf(data: string): readonly [number, number] {
  const bytes = Buffer.from(data, "base64");
  if (bytes.subarray(1, 4).toString() === "PNG") return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  return [0, 0];
}

/** Anthropic's rules, in its words; the answer of a fixed text otherwise. */
async function strictAnthropic() {
  const requests: { readonly tools?: readonly { readonly input_schema: object }[] }[] = [];
  const inner = await startProviderServer("anthropic-messages", new Array(10).fill({ type: "answer", text: "Seen." }));
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      requests.push(body);
      const refusal = anthropicRefusal(body);
      if (refusal !== null) {
        const error = { type: "error", error: { type: "invalid_request_error", message: refusal } };
        response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(error));
        return;
      }
      const answer = await fetch(`${inner.baseURL}${(request.url ?? "").replace(/^\/v1/, "")}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
      response.end(await answer.text());
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await inner.close();
  });
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

function anthropicRefusal(body: { readonly tools?: readonly { readonly input_schema: object }[] }): string | null {
  for (const [at, { input_schema }] of (body.tools ?? []).entries())
    if (["oneOf", "anyOf", "allOf"].some((name) => name in input_schema))
      return `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
  const sources = objectsIn(body).filter(({ type }) => type === "base64") as unknown as {
    media_type: string;
    data: string;
  }[];
  if (sources.length > 100) return `Too much media: 0 document pages + ${sources.length} images > 100`;
  for (const { media_type, data } of sources) {
    if (data.length > 5_242_880) return `image exceeds 5 MB maximum: ${data.length} bytes > 5242880 bytes`;
    if (!["image/png", "image/jpeg", "image/gif", "image/webp"].includes(media_type)) return "messages.0: media_type";
    if (media_type === "image/png" && Buffer.from(data, "base64").subarray(1, 4).toString() !== "PNG")
      return "messages.0.content.1.image.source.base64: Could not process image";
    const side = Math.max(...sizeOf(data));
    if (side > 8_000)
      return "messages.0.content.1.image.source.base64.data: image dimensions exceed max allowed size: 8000 pixels";
    if (sources.length > 20 && side > 2_000)
      return "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels";
  }
  return null;
}

const packages = [
  ["v3", createAnthropic],
  ["v4", createAnthropicV4],
] as const;

describe.each(packages)("with @ai-sdk/anthropic %s, a request", verifies("RTRY-1"), (_, create) => {
  async function start() {
    const server = await strictAnthropic();
    const model = fromAiSdk(create({ baseURL: server.baseURL, apiKey: "k" })("claude-sonnet-5-5"));
    const pictures = () => objectsIn(server.requests.at(-1)).filter(({ type }) => type === "base64").length;
    return { ...server, model, pictures };
  }

  test.each([
    [
      "larger than 8000 pixels",
      file(png(9_000), "huge.png"),
      "it has 9000 × 9000 pixels, and Anthropic accepts at most 8000 × 8000",
    ],
    ["of more than 5 MB", file(png(10, 10, 4_000_000), "heavy.png"), "and Anthropic accepts at most 5.2 MB"],
    [
      "of another type",
      file("AAAA", "a.tiff", "image/tiff"),
      "Anthropic does not accept image/tiff, only png, jpeg, gif, webp",
    ],
    ["of no type at all", file("AQIDBAUG", "broken.png"), "it is not a valid image/png file"],
    ["in JPEG behind much metadata", file(jpeg(9_000), "a.jpg", "image/jpeg"), "it has 9000 × 9000 pixels"],
    ["in GIF", file(gif(9_000), "a.gif", "image/gif"), "it has 9000 × 9000 pixels"],
    ["in WebP", file(webp(9_000), "a.webp", "image/webp"), "it has 9000 × 2 pixels"],
  ])("goes on without a picture %s, and says why", async (_what, picture, why) => {
    const { model, requests, pictures } = await start();
    const deltas = await collectDeltas(model, createRequest([message(picture, file(png(100), "good.png"))]));
    requireLastDelta(deltas, "done");
    expect(pictures()).toBe(1);
    const note = `The picture ${picture.filename} was left out: `;
    expect(deltas[0]).toMatchObject({ kind: "start", warnings: [expect.stringContaining(note)] });
    expect(JSON.stringify(deltas[0])).toContain(why);
    expect(JSON.stringify(requests)).toContain(why);
    expect(model.whyRefused?.(picture)).toContain(why);
  });

  test("has the true type of a picture that is named wrongly", async () => {
    const { model, requests } = await start();
    await collectDeltas(model, createRequest([message(file(jpeg(100), "a.png"))]));
    expect(JSON.stringify(requests)).toContain('"media_type":"image/jpeg"');
  });

  test("has no picture over 2000 pixels among more than 20, and the newest 100 pictures", async () => {
    const { model, pictures } = await start();
    const shots = (count: number, side: number) =>
      Array.from({ length: count }, (_, at) => message(file(png(side), `${at}.png`)));
    const large = await collectDeltas(model, createRequest(shots(23, 2_500)));
    requireLastDelta(large, "done");
    expect(pictures()).toBe(20);
    expect(JSON.stringify(large[0])).toContain(
      "Several pictures were left out, 0.png first: it has 2500 × 2500 pixels",
    );
    const many = await collectDeltas(model, createRequest(shots(130, 100)));
    requireLastDelta(many, "done");
    expect(pictures()).toBe(100);
    expect(JSON.stringify(many[0])).toContain("0.png first: Anthropic accepts at most 100 pictures in a request.");
  });

  test("goes on without a picture that a tool gave", async () => {
    const { model } = await start();
    const call = { type: "tool_call", toolCallId: "c", name: "shot", input: {} } as const;
    const output = { type: "content", parts: [file(png(9_000), "shot.png")] } as const;
    const result = { type: "tool_result", toolCallId: "c", name: "shot", output } as const;
    const messages: readonly Message[] = [
      createUserMessage("Look"),
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [result] },
    ];
    const deltas = await collectDeltas(model, createRequest(messages));
    requireLastDelta(deltas, "done");
    expect(JSON.stringify(deltas[0])).toContain("The picture shot.png was left out");
  });

  test("shows a schema with alternatives at the top as one object, and checks inputs by the whole schema", async () => {
    const { model, requests } = await start();
    const inputSchema = {
      type: "object",
      properties: { id: { type: "string" } },
      required: ["id"],
      anyOf: [
        { properties: { name: { type: "string" } }, required: ["name"] },
        { properties: { name: { type: "null" }, at: { type: "number" } }, required: ["at"] },
      ],
      additionalProperties: false,
    };
    const tools = [{ name: "find", description: "Finds.", inputSchema }];
    requireLastDelta(await collectDeltas(model, createRequest([createUserMessage("Find")], { tools })), "done");
    expect(requests[0]?.tools).toMatchObject([
      {
        description: expect.stringContaining('The input also has to fit this JSON Schema: {"anyOf":['),
        input_schema: {
          type: "object",
          properties: {
            id: { type: "string" },
            name: { anyOf: [{ type: "string" }, { type: "null" }] },
            at: { type: "number" },
          },
          required: ["id"],
        },
      },
    ]);
    expect(requests[0]?.tools?.[0]?.input_schema).not.toHaveProperty("additionalProperties");
  });

  test("that is refused all the same names the tool or the pictures that the refusal is about", async () => {
    const replies = [
      "tools.1.custom.input_schema: odd",
      "messages.0.content.1.image.source.base64: Could not process image",
    ];
    const script = replies.map((text) => ({
      type: "raw" as const,
      status: 400,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: text } }),
    }));
    const server = await startProviderServer("anthropic-messages", script);
    onTestFinished(() => server.close());
    const model = fromAiSdk(create({ baseURL: server.baseURL, apiKey: "k" })("claude-sonnet-5-5"));
    const tools = ["one", "two"].map((name) => ({ name, description: "", inputSchema: { type: "object" } }));
    const request = createRequest([message(file(png(10), "shot.png"))], { tools });
    const failureOf = async () => requireLastDelta(await collectDeltas(model, request), "error").failure.message;
    expect(await failureOf()).toContain("This is the tool two.");
    expect(await failureOf()).toMatch(
      /The pictures in the request: shot\.png\. To continue without a picture, fork the session/,
    );
  });
});

test(
  "a session that got such a picture before goes on, and its log keeps the picture",
  verifies("RTRY-1"),
  async () => {
    const server = await strictAnthropic();
    const store = createMemoryStore();
    const picture = file(png(9_000), "huge.png");
    const before = createAgent({ name: "a", store, model: createScriptedModel([{ text: "Seen by another model." }]) });
    await before.run([{ type: "text", text: "Look" }, picture], { sessionId: "s" });
    const model = createAnthropic({ baseURL: server.baseURL, apiKey: "k" })("claude-sonnet-5-5");
    const result = await createAgent({ name: "a", store, model }).run("And now?", { sessionId: "s" });
    expect(result).toMatchObject({ status: "completed", text: "Seen." });
    expect(JSON.stringify(await createAgent({ name: "a", store, model }).session("s").messages())).toContain(
      picture.data,
    );
  },
);

test("each provider has its own limits: Gemini takes no GIF, and OpenAI does", async () => {
  const google = fromAiSdk(createGoogleGenerativeAI({ apiKey: "k" })("gemini-2.5-flash"));
  const openai = fromAiSdk(createOpenAI({ apiKey: "k" })("gpt-5"));
  const picture = file(gif(10), "a.gif", "image/gif");
  expect(google.whyRefused?.(picture)).toBe("Gemini does not accept image/gif, only png, jpeg, webp, heic, heif");
  expect(openai.whyRefused?.(picture)).toBeNull();
  expect(openai.whyRefused?.(file(png(9_000), "huge.png"))).toBeNull();
  expect(google.whyRefused?.({ type: "file", mediaType: "application/pdf", data: "JVBERi0=" })).toBeNull();
  expect(openai.whyRefused?.(file("https://example.org/a.png", "a.png"))).toBeNull();
});
