/**
 * A provider whose certificate this process does not trust: through a real package, and a TLS server with a certificate of its own.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { collect, filterEventsOfType } from "../support/agents.js";

test.each([
  ["localhost", /not trusted \(\w*SELF_SIGNED\w*\).*NODE_EXTRA_CA_CERTS/],
  ["127.0.0.1", /NODE_EXTRA_CA_CERTS|for another name/],
])(
  "a certificate at %s that nobody vouches for ends the run at the first attempt, and says what to set",
  async (host, message) => {
    const [key, cert] = ["key", "certificate"].map((name) => readFileSync(`test/fixtures/tls/${name}.pem`));
    const server = createServer({ key, cert }, (_request, response) => void response.end());
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const provider = createOpenAICompatible({ name: "company", baseURL: `https://${host}:${port}/v1`, apiKey: "k" });
    const run = createAgent({ model: fromAiSdk(provider.languageModel("m")) }).runStream("Hello.");
    const failed = filterEventsOfType(await collect(run), "attempt_failed");
    expect(failed).toHaveLength(1);
    expect(await run.result).toMatchObject({ status: "failed", error: { message: expect.stringMatching(message) } });
  },
);
