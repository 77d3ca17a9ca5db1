/**
 * Providers' errors through their real packages, of both specifications: the kind that each is, and one request for each
 * attempt, since the packages' own retries are no part of `doStream`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromAiSdk } from "../../src/models/index.js";
import type { ModelDelta, ModelRequest } from "../../src/ports/model.js";
import { verifies } from "../verifies.js";
import { type ProviderError, providerErrors } from "./provider-errors.js";
import { type ProviderServer, type RawReply, startProviderServer } from "./provider-server.js";
import { realProviders } from "./real-providers.js";

const request: ModelRequest = {
  sessionId: "s",
  runId: "r",
  modelCallIndex: 1,
  attempt: 1,
  messages: [{ role: "user", parts: [{ type: "text", text: "Hello." }] }],
  tools: [],
};

async function lastOf(deltas: AsyncIterable<ModelDelta>): Promise<ModelDelta | undefined> {
  let last: ModelDelta | undefined;
  for await (const delta of deltas) last = delta;
  return last;
}

describe.each(realProviders)("$name", (provider) => {
  let server: ProviderServer;
  let reply: RawReply;

  beforeAll(async () => {
    server = await startProviderServer(provider.format, () => reply);
  });
  afterAll(() => server.close());

  test.each(providerErrors[provider.format])("$name", verifies("RTRY-1"), async (one: ProviderError) => {
    reply = one.reply;
    const before = server.requests.length;
    const model = fromAiSdk(provider.create({ baseURL: server.baseURL, apiKey: "sk-test-key-of-mine" }));
    const last = await lastOf(model.stream(request, new AbortController().signal));
    if (last?.kind !== "error") throw new Error(`The answer ended with ${last?.kind}.`);

    const { name: _, reply: __, ...expected } = one;
    expect(last.failure).toMatchObject(expected);
    if (one.retryAfterMs === undefined) expect(last.failure).not.toHaveProperty("retryAfterMs");
    expect(last.failure.message).toMatch(/\S/);
    expect(JSON.stringify(last.failure)).not.toContain("sk-test-key-of-mine");
    expect(server.requests.length).toBe(before + 1);
  });
});
