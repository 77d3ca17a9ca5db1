/**
 * The prompt cache of a conversation in a pseudo-terminal, with Anthropic's provider package against a local server that bills prompts
 * as Anthropic documents.
 */
import { expect, onTestFinished, test } from "vitest";
import { startBillingServer } from "../../bench/economy/billing-server.mjs";
import { createWorld } from "../cli/pawl.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

/** Words that the screen may break into lines anywhere. */
function wrapped(text: string): RegExp {
  return new RegExp(
    text
      .split(" ")
      .map((word) => word.replace(/[$]/g, "\\$&"))
      .join("\\s+"),
  );
}

test(
  "a conversation is cached for an hour, and /cost and /context name what broke the cache and what that cost",
  verifies("COST-1", "COST-2"),
  async () => {
    let passed = 0;
    const server = await startBillingServer({ reply: (index) => ({ text: `Answer ${index}.` }), now: () => passed });
    onTestFinished(server.close);
    const env = { ANTHROPIC_BASE_URL: server.baseURL, ANTHROPIC_API_KEY: "sk-test" };
    const person = openPawl(createWorld(), ["--model", "anthropic/claude-sonnet-5"], { env });
    await person.sees("ready");
    person.type("one\r");
    await person.sees(/Answer 0\.[\s\S]*ready/);
    person.type("two\r");
    await person.sees(/Answer 1\.[\s\S]*ready/);
    person.type("/cost\r");
    await person.sees(/Read from the cache: \d+ % of the input/);
    expect(await person.screen()).not.toContain("cache broke");
    // The server drops its entries, although for Pawl no time has passed.
    passed += 7_200_000;
    person.type("three\r");
    await person.sees(/Answer 2\.[\s\S]*ready/);
    person.type("/cost\r");
    const broke =
      "the provider no longer had the cache entry. [\\d,]+ tokens were charged again, for about $0.0\\d{3}.";
    await person.sees(wrapped(`The cache broke in 1 step: ${broke}`));
    person.type("/context\r");
    await person.sees(wrapped(`The provider's cache last broke in step 1 of its run: ${broke}`));
    const bills = server.ledger.map((entry) => {
      if (entry.refused !== undefined) throw new Error(`The server refused a request: ${entry.refused}`);
      return entry;
    });
    expect(bills.map(({ written5m }) => written5m)).toEqual([0, 0, 0]);
    expect(bills.map(({ written1h }) => written1h > 0)).toEqual([true, true, true]);
    expect(bills[1]?.read).toBe(bills[0]?.total);
    expect(bills[2]?.read).toBe(0);
    expect(JSON.stringify(bills[2]?.body)).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}');
  },
);
