/**
 * Files in results of tools, through the real provider packages: what each sends over the wire.
 */
import { afterEach, describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Json, type Store } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { type FormatName, type ProviderServer, startProviderServer } from "../models/provider-server.js";
import { type RealProvider, readRequest, realProviders } from "../models/real-providers.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const servers: ProviderServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** A PNG's first bytes, and as many more of one kind as asked for. */
function png(bytes: number, fill: number): Buffer {
  // 16 × 16 pixels: a provider refuses what is larger than it takes.
  const header = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10", "latin1");
  return Buffer.concat([header, Buffer.alloc(bytes, fill)]);
}

const small = png(300, 0xa5);
const large = png(200_000, 0x5a);
const archive = Buffer.from("PK\x03\x04 and what is packed");

const file = (mediaType: string, bytes: Buffer) =>
  ({ type: "content", parts: [{ type: "file", mediaType, data: bytes.toString("base64") }] }) as const;

const shoot = defineTool({
  name: "shoot",
  description: "Takes a picture, or packs one.",
  input: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
  readOnly: true,
  execute({ what }) {
    if (what === "archive") return file("application/zip", archive);
    return file("image/png", what === "small" ? small : large);
  },
});

/** The request that a provider gets after the tool has given these. */
async function requestAfter(provider: RealProvider, given: readonly string[], store: Store) {
  const calls = given.map((what, index) => ({ name: "shoot", input: { what }, id: `call_${index}` }));
  const server = await startProviderServer(provider.format, [
    { type: "answer", calls },
    { type: "answer", text: "Seen." },
  ]);
  servers.push(server);
  const languageModel = provider.create({ baseURL: server.baseURL, apiKey: "sk-test" });
  const model = fromAiSdk(languageModel, { providerOptions: provider.providerOptions, id: provider.id });
  const result = await createAgent({ model, tools: [shoot], store }).run("Look", { sessionId: "s" });
  expect(result).toMatchObject({ status: "completed", text: "Seen." });
  const request = server.requests[1];
  return { request, said: readRequest(provider.format, request), body: JSON.stringify(request?.body) };
}

type Found = { readonly [key: string]: Json };

/** Each object within a value for which something holds. */
function objectsIn(value: Json | undefined, holds: (object: Found) => boolean): readonly Found[] {
  if (value === null || typeof value !== "object") return [];
  const within = Object.values(value).flatMap((one: Json) => objectsIn(one, holds));
  return !Array.isArray(value) && holds(value as Found) ? [value as Found, ...within] : within;
}

/** An image as each protocol has it; none has a place for one in the results of the last. */
const imageIn: { readonly [Format in FormatName]: ((data: string) => Found) | null } = {
  "anthropic-messages": (data) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } }),
  "openai-responses": (data) => ({ type: "input_image", image_url: `data:image/png;base64,${data}` }),
  "google-generate-content": (data) => ({ inlineData: { mimeType: "image/png", data } }),
  "openai-chat": null,
};

const isImage = (object: Found) =>
  object.type === "image" || object.type === "input_image" || object.inlineData !== undefined;

describe.each(realProviders)("$name", (provider) => {
  const written = imageIn[provider.format];

  test.each(localStores)(
    "images of results are shown where they can be ($name)",
    verifies("TOOL-9"),
    async ({ open }) => {
      await withStore(open, async (store) => {
        const { request, said, body } = await requestAfter(provider, ["small", "large"], store);
        const images = objectsIn(request?.body, isImage);
        const [smallData, largeData] = [small.toString("base64"), large.toString("base64")];
        if (written === null) {
          expect(images).toEqual([]);
          expect(body).not.toContain(smallData.slice(0, 40));
          expect(said.results[0]?.text).toBe(`[image/png, ${small.length} bytes, which this model cannot be shown]`);
          expect(said.results[1]?.text).toMatch(
            new RegExp(
              `^\\[image/png, ${large.length} bytes, which this model cannot be shown; it is kept as output \\d+\\]$`,
            ),
          );
        } else {
          expect(images).toMatchObject([written(smallData), written(largeData)]);
          // Once each, and never as text, which would fill the model's context.
          expect(body.split(largeData)).toHaveLength(2);
          expect(body.split(smallData)).toHaveLength(2);
        }
        expect(body).not.toContain("blob:");
        // What is large is in the store's blobs alone.
        const log = JSON.stringify(await store.read("s"));
        expect(log).toContain(smallData);
        expect(log).not.toContain(largeData.slice(0, 400));
        expect(await store.verify("s")).toEqual([]);
      });
    },
  );

  test("a file that no model reads is told of in words", verifies("TOOL-9"), async () => {
    const { said, body } = await requestAfter(provider, ["archive"], createMemoryStore());
    expect(said.results).toHaveLength(1);
    expect(body).toContain(`[application/zip, ${archive.length} bytes, which this model cannot be shown]`);
    expect(body).not.toContain(archive.toString("base64"));
  });
});

test("an image that the store has lost is told of in words, and the run goes on", verifies("TOOL-9"), async () => {
  const [provider] = realProviders;
  if (provider === undefined) throw new Error("There is no provider.");
  const inner = createMemoryStore();
  const store: Store = {
    ...inner,
    getBlob: async (id, hash) => {
      const bytes = await inner.getBlob(id, hash);
      return bytes !== null && bytes.length === large.length ? null : bytes;
    },
  };
  const { body } = await requestAfter(provider, ["large"], store);
  expect(body).toContain(`[image/png, ${large.length} bytes, which is missing in the store]`);
});
