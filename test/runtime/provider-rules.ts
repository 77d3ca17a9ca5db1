/**
 * The rules that providers document for a conversation, held against the bodies that their own packages write.
 */
import { expect } from "vitest";
import type { Json } from "../../src/core/data/message.js";
import type { FormatName } from "../models/provider-server.js";

type Item = { readonly [key: string]: Json };

const items = (value: Json | undefined): readonly Item[] => (Array.isArray(value) ? (value as readonly Item[]) : []);
const object = (value: Json | undefined): Item => (value ?? {}) as Item;

const rules: { readonly [Name in FormatName]: (body: Item) => void } = {
  /** Turns alternate, from a user to a user; all results of a turn's calls come first in the next; ids are of letters, digits, `_` and `-`. */
  "anthropic-messages": (body) => {
    const messages = items(body.messages);
    for (const [index, { role }] of messages.entries()) expect(role).toBe(index % 2 === 0 ? "user" : "assistant");
    expect(messages.at(-1)?.role).toBe("user");
    expectOnePrompt(items(body.system).length);
    const seen: string[] = [];
    for (const [index, message] of messages.entries()) {
      const blocks = items(message.content);
      for (const block of blocks) if (block.type === "text") expect(String(block.text).trim()).not.toBe("");
      const results = blocks.filter(({ type }) => type === "tool_result").map((block) => block.tool_use_id);
      expect(blocks.slice(0, results.length).every(({ type }) => type === "tool_result")).toBe(true);
      const before = items(messages[index - 1]?.content).filter(({ type }) => type === "tool_use");
      expect(results).toEqual(before.map(({ id }) => id));
      seen.push(...before.map(({ id }) => String(id)));
    }
    for (const id of seen) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(seen).size).toBe(seen.length);
  },
  /** Each call has one output, before anything else is said. */
  "openai-responses": (body) => {
    const open: unknown[] = [];
    const seen: unknown[] = [];
    for (const item of items(body.input)) {
      if (item.type === "function_call") {
        open.push(item.call_id);
        seen.push(item.call_id);
      } else if (item.type === "function_call_output") expect(open.shift()).toBe(item.call_id);
      else expect(open).toEqual([]);
    }
    expect(open).toEqual([]);
    expect(new Set(seen).size).toBe(seen.length);
    expectOnePrompt(items(body.input).filter(({ role }) => role === "system" || role === "developer").length);
    expect(items(body.input).at(-1)?.role).not.toBe("assistant");
  },
  /** A message with calls is followed by one tool message for each. */
  "openai-chat": (body) => {
    const messages = items(body.messages);
    const open: unknown[] = [];
    for (const message of messages) {
      if (message.role === "tool") expect(open.shift()).toBe(message.tool_call_id);
      else expect(open).toEqual([]);
      open.push(...items(message.tool_calls).map(({ id }) => id));
    }
    expect(open).toEqual([]);
    const ids = messages.flatMap((message) => items(message.tool_calls).map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expectOnePrompt(messages.filter(({ role }) => role === "system").length);
    expect(messages[0]?.role).toBe("system");
    expect(messages.at(-1)?.role).not.toBe("assistant");
  },
  /** From a user to a user; a turn with calls comes after a user's, and the next one has as many responses, in order; no turn is empty. */
  "google-generate-content": (body) => {
    const contents = items(body.contents);
    expectOnePrompt(body.systemInstruction === undefined ? 0 : 1);
    expect([contents[0]?.role, contents.at(-1)?.role]).toEqual(["user", "user"]);
    for (const [index, content] of contents.entries()) {
      const parts = items(content.parts);
      expect(parts.length).toBeGreaterThan(0);
      const responses = parts.filter((part) => part.functionResponse !== undefined);
      const calls = items(contents[index - 1]?.parts).filter((part) => part.functionCall !== undefined);
      expect(responses.map((part) => object(part.functionResponse).name)).toEqual(
        calls.map((part) => object(part.functionCall).name),
      );
      if (calls.length > 0) expect(contents[index - 2]?.role).toBe("user");
    }
  },
};

function expectOnePrompt(count: number): void {
  expect(count).toBe(1);
}

/** @throws where the body of a request breaks a rule of the provider's */
export function holdRules(format: FormatName, body: Item): void {
  rules[format](body);
}
