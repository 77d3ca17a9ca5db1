/**
 * How far the estimate of tokens is off, measured against a tokenizer with two public vocabularies, on texts that stay the same
 * for as long as package-lock.json and scripts/checks/package-lock.json do.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { encode as encodeCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { encode as encodeO200k } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { estimateTokens } from "../../src/index.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { expectTable } from "../support/docs-page.js";
import { verifies } from "../verifies.js";
import { chineseText } from "./chinese-text.js";

const page = {
  file: "guide/tokens.md",
  command: "PAWL_WRITE_DOCS=1 npx vitest run test/context/estimate.long.test.ts",
  columns: ["Text", "Characters", "`o200k_base`", "`cl100k_base`"],
} as const;

const most = 100_000;
const fromFile = (path: string) => readFileSync(path, "utf8").slice(0, most);
const fromPackage = (path: string) => fromFile(resolve("node_modules", path));

/** What the TypeScript compiler says in a language, one message on a line. */
function messagesIn(language: string): string {
  const file = resolve("node_modules/typescript/lib", language, "diagnosticMessages.generated.json");
  const messages: { readonly [key: string]: string } = JSON.parse(readFileSync(file, "utf8"));
  return Object.values(messages).join("\n").slice(0, most);
}

const mediaTypes = (): unknown => JSON.parse(readFileSync(resolveCheckTool("mime-db/db.json"), "utf8"));
const digests = Array.from({ length: 500 }, (_, n) => createHash("sha256").update(String(n)).digest());

const texts: { readonly [name: string]: () => string } = {
  "English, this project's licence": () => readFileSync("LICENSE", "utf8"),
  "English with examples (documentation of fast-check and qs)": () =>
    `${fromPackage("fast-check/README.md")}\n${fromFile(resolveCheckTool("qs/README.md"))}`,
  "TypeScript (sources of zod)": () => fromPackage("zod/src/v4/core/compile.ts"),
  "JavaScript (sources of commander)": () => fromPackage("commander/lib/command.js"),
  "JSON, indented (mime-db)": () => JSON.stringify(mediaTypes(), null, 2).slice(0, most),
  "JSON, without spaces (mime-db)": () => JSON.stringify(mediaTypes()).slice(0, most),
  "Chinese, a story": () => chineseText,
  "Chinese (messages of the TypeScript compiler)": () => messagesIn("zh-cn"),
  "Japanese (the same)": () => messagesIn("ja"),
  "Korean (the same)": () => messagesIn("ko"),
  "Russian (the same)": () => messagesIn("ru"),
  "German (the same)": () => messagesIn("de"),
  "Hexadecimal (500 digests, one on a line)": () => digests.map((one) => one.toString("hex")).join("\n"),
  "Base64 (the same digests, in one line)": () => Buffer.concat(digests).toString("base64"),
};

type Errors = { readonly characters: number; readonly o200k: number; readonly cl100k: number };

function errorsOf(text: string): Errors {
  const estimate = estimateTokens(text);
  const error = (tokens: number) => estimate / tokens - 1;
  return {
    characters: text.length,
    o200k: error(encodeO200k(text).length),
    cl100k: error(encodeCl100k(text).length),
  };
}

function percent(error: number): string {
  const whole = Math.round(error * 100);
  return whole === 0 ? "0 %" : `${whole > 0 ? "+" : "−"}${Math.abs(whole)} %`;
}

test("the error of the estimate is what the page says", verifies("CTX-7"), () => {
  const rows = Object.entries(texts).map(([name, text]) => {
    const { characters, o200k, cl100k } = errorsOf(text());
    return [name, characters.toLocaleString("en-US"), percent(o200k), percent(cl100k)];
  });
  expectTable(page, "Accuracy", rows);
});

test.each([
  "README.md",
  "docs/guide/tools.md",
  "src/runtime/driver/driver.ts",
  "src/core/machine/transition.ts",
  "package-lock.json",
])("the error on %s is within a fifth, as the page says of this project's own files", verifies("CTX-7"), (path) => {
  const { o200k, cl100k } = errorsOf(readFileSync(path, "utf8").slice(0, most));
  for (const error of [o200k, cl100k]) expect(Math.abs(error)).toBeLessThan(0.2);
});
