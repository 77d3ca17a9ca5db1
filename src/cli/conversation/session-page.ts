/**
 * A session as one HTML page, to be kept or sent to somebody.
 *
 * 1. The page stands alone: no script, no picture and no request. Its content security policy says so to the browser, too.
 * 2. Text of a session is text of the page: every character that means something in HTML is escaped, and marks of Markdown
 *    become elements by our own table only. Control characters are visible.
 */
import { Marked, type Tokens } from "marked";
import { textOfOutput } from "../../core/index.js";
import { type Json, type StreamItem, textOf } from "../../index.js";
import { cut, oneLine, visible } from "../text.js";
import { type Block, createBlockCutter, nestsDeeply } from "./markdown-blocks.js";
import { pageStyle } from "./session-page-style.js";

export type PageFacts = {
  readonly title: string;
  readonly sessionId: string;
  readonly folder: string | undefined;
  readonly model: string | undefined;
};

type Call = { readonly type: "call"; readonly name: string; readonly input: Json; result: Result | null };
type Result = { readonly outcome: string; readonly text: string };
type Part = { readonly type: "you" | "answer"; readonly text: string } | Call;

/** @param safe leaves secrets out of a text */
export async function sessionPage(
  facts: PageFacts,
  items: AsyncIterable<StreamItem>,
  safe: (text: string) => string,
): Promise<string> {
  const shown = (text: string) => visible(safe(text));
  const parts: Part[] = [];
  const calls = new Map<string, Call>();
  for await (const item of items) {
    if (item.type === "run_started" || item.type === "steered")
      parts.push({ type: "you", text: item.input.map(textOf).join("\n") });
    else if (item.type === "message") parts.push({ type: "answer", text: textOf(item.message) });
    else if (item.type === "tool_call") {
      const call: Call = { type: "call", name: item.name, input: item.input, result: null };
      parts.push(call);
      calls.set(item.callKey, call);
    } else if (item.type === "tool_result") {
      const call = calls.get(item.callKey);
      if (call !== undefined) call.result = { outcome: item.outcome, text: textOfOutput(item.returned ?? item.output) };
    }
  }
  const { title, sessionId, folder, model } = facts;
  const under = [`Session ${sessionId}`, folder, model].filter((fact) => fact !== undefined).map(shown);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escaped(oneLine(shown(title)))}</title>
<style>${pageStyle}</style>
</head>
<body>
<header><h1 dir="auto">${escaped(oneLine(shown(title)))}</h1><p>${under.map(escaped).join(" · ")}</p></header>
<main>
${parts
  .map((part) => partHtml(part, shown))
  .filter((html) => html !== "")
  .join("\n")}
</main>
</body>
</html>
`;
}

function partHtml(part: Part, shown: (text: string) => string): string {
  switch (part.type) {
    case "you":
      return `<section class="you" aria-label="You"><pre dir="auto">${escaped(shown(part.text))}</pre></section>`;
    case "answer":
      if (part.text.trim() === "") return "";
      return `<section class="answer" dir="auto">${markdownHtml(shown(part.text))}</section>`;
    case "call": {
      const { name, input, result } = part;
      const about = cut(oneLine(shown(typeof input === "string" ? input : JSON.stringify(input))), 80);
      const end = result === null ? "no result" : result.outcome === "ok" ? "" : result.outcome;
      const output = result === null ? "" : `<pre dir="auto">${escaped(shown(result.text))}</pre>`;
      return `<details><summary><b>${escaped(shown(name))}</b> <code>${escaped(about)}</code>${end === "" ? "" : ` <i>${escaped(end)}</i>`}</summary><pre dir="auto">${escaped(shown(JSON.stringify(input, null, 2)))}</pre>${output}</details>`;
    }
  }
}

/** Block by block: each is bounded, so a hostile text takes no more time than a plain one. */
function markdownHtml(text: string): string {
  const cutter = createBlockCutter();
  return [...cutter.add(text), ...cutter.end()].map(blockHtml).join("");
}

function blockHtml(block: Block): string {
  switch (block.type) {
    case "markdown":
      return nestsDeeply(block.text) ? `<pre>${escaped(block.text)}</pre>` : String(marked.parse(block.text));
    case "code-start":
      return "<pre><code>";
    case "code":
      return `${escaped(block.line)}\n`;
    case "code-end":
      return "</code></pre>";
    case "blank":
      return "";
  }
}

const marked = new Marked({
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text, href }) => escaped(`${text} (${href})`),
    checkbox: ({ checked }) => (checked ? "[x] " : "[ ] "),
    code: ({ text }) => `<pre><code>${escaped(text)}</code></pre>`,
    link({ href, text, tokens }: Tokens.Link) {
      const inner = this.parser.parseInline(tokens);
      const address = text === href ? "" : ` <small>(${escaped(href)})</small>`;
      return /^(?:https?|mailto):/i.test(href)
        ? `<a href="${escaped(href)}" rel="noopener noreferrer">${inner}</a>${address}`
        : `${inner}${address}`;
    },
  },
});

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
