/**
 * Every stream part and every finish reason of the AI SDK's provider interface, in both specifications: what becomes of it,
 * and that the guide says so. A version that adds one is a type error here.
 */
import { readFileSync } from "node:fs";
import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from "provider-v4";
import { describe, expect, test } from "vitest";
import { createStreamReader, type PartType } from "../../src/models/ai-sdk/stream.js";
import type { DeltaKind } from "../../src/ports/model.js";
import { verifies } from "../verifies.js";
import { createFinishPart, sampleUsage } from "./stream-parts.js";

type AnyPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart;
type AnyReason = LanguageModelV3FinishReason["unified"] | LanguageModelV4FinishReason["unified"];

/** What the reader handles is exactly what the specifications have: its switch is exhaustive over `PartType`. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const isHandled: Same<PartType, AnyPart["type"]> = true;

type Row<Type extends AnyPart["type"]> = {
  readonly example: Extract<AnyPart, { readonly type: Type }>;
  /** The deltas that come of the example, if it stands alone between a start and a finish. */
  readonly deltas: readonly DeltaKind[];
};

const url = "https://example.com";
const parts: { readonly [Type in AnyPart["type"]]: Row<Type> } = {
  "stream-start": { example: { type: "stream-start", warnings: [] }, deltas: [] },
  "response-metadata": { example: { type: "response-metadata", modelId: "m" }, deltas: [] },
  "text-start": { example: { type: "text-start", id: "1" }, deltas: ["text-start"] },
  "text-delta": { example: { type: "text-delta", id: "1", delta: "a" }, deltas: ["text-delta"] },
  "text-end": { example: { type: "text-end", id: "1" }, deltas: ["text-end"] },
  "reasoning-start": { example: { type: "reasoning-start", id: "1" }, deltas: ["reasoning-start"] },
  "reasoning-delta": { example: { type: "reasoning-delta", id: "1", delta: "a" }, deltas: ["reasoning-delta"] },
  "reasoning-end": { example: { type: "reasoning-end", id: "1" }, deltas: ["reasoning-end"] },
  "tool-input-start": { example: { type: "tool-input-start", id: "1", toolName: "t" }, deltas: ["tool-input-start"] },
  "tool-input-delta": { example: { type: "tool-input-delta", id: "1", delta: "{" }, deltas: ["tool-input-delta"] },
  "tool-input-end": { example: { type: "tool-input-end", id: "1" }, deltas: ["tool-input-end"] },
  "tool-call": {
    example: { type: "tool-call", toolCallId: "1", toolName: "t", input: "{}" },
    deltas: ["tool-call"],
  },
  "tool-approval-request": {
    example: { type: "tool-approval-request", approvalId: "a", toolCallId: "1" },
    deltas: ["tool-approval-request"],
  },
  "tool-result": {
    example: { type: "tool-result", toolCallId: "1", toolName: "t", result: "r" },
    deltas: ["tool-result"],
  },
  file: { example: { type: "file", mediaType: "image/png", data: "AQID" }, deltas: ["file"] },
  "reasoning-file": {
    example: { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
    deltas: ["file"],
  },
  source: { example: { type: "source", sourceType: "url", id: "1", url }, deltas: ["source"] },
  custom: { example: { type: "custom", kind: "openai.compaction" }, deltas: ["reasoning-start", "reasoning-end"] },
  ping: { example: { type: "ping" }, deltas: [] },
  raw: { example: { type: "raw", rawValue: {} }, deltas: [] },
  error: { example: { type: "error", error: new Error("no") }, deltas: ["error"] },
  finish: { example: createFinishPart(), deltas: ["done"] },
};

/** Whether an answer with this reason is taken, and the reason in the log. */
const reasons: { readonly [Reason in AnyReason]: "done" | "error" } = {
  stop: "done",
  length: "done",
  "content-filter": "done",
  "tool-calls": "done",
  error: "error",
  interrupted: "error",
  other: "done",
};

function deltasOf(part: AnyPart): readonly DeltaKind[] {
  const reader = createStreamReader();
  const start: AnyPart = { type: "response-metadata", modelId: "m" };
  const kinds = [start, part, createFinishPart()].flatMap((one) => reader.read(one).map(({ kind }) => kind));
  const isEnd = part.type === "finish" || part.type === "error";
  return kinds.slice(1, isEnd ? undefined : -1);
}

const page = readFileSync("docs/guide/models.md", "utf8");

/** The names in backticks in the first cells of the table under a heading. */
function rowsUnder(heading: string): readonly string[] {
  const [, rest = ""] = page.split(`\n### ${heading}\n`);
  const [section = ""] = rest.split(/^#{1,3} /m);
  return section.split("\n").flatMap((line) => {
    const [, first = ""] = /^\| (`[^|]+`) \|/.exec(line) ?? [];
    return [...first.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  });
}

describe("the provider interface, versions 3 and 4", () => {
  test("every stream part is handled", verifies("CTX-10"), () => {
    expect(isHandled).toBe(true);
    for (const [type, { example, deltas }] of Object.entries(parts)) expect(deltasOf(example), type).toEqual(deltas);
  });

  test("a part of a later version is passed over", () => {
    expect(deltasOf({ type: "hologram" } as unknown as AnyPart)).toEqual([]);
  });

  test("every finish reason is handled", verifies("FIN-2"), () => {
    for (const [unified, kind] of Object.entries(reasons)) {
      const [, last] = createStreamReader().read({
        type: "finish",
        finishReason: { unified, raw: "raw" },
        usage: sampleUsage,
      });
      expect(last?.kind, unified).toBe(kind);
    }
  });

  test("the guide has a row for each", () => {
    expect([...rowsUnder("How each stream part is handled")].sort()).toEqual(Object.keys(parts).sort());
    expect([...rowsUnder("How each finish reason is handled")].sort()).toEqual(Object.keys(reasons).sort());
  });
});
