/**
 * Renders a session as one HTML page, to store or to share.
 *
 * 1. The page is self-contained: no script, no image and no request. Its content security policy enforces this in the browser.
 * 2. Text of a session stays text in the page: every character with a meaning in HTML is escaped, and only our own table turns
 *    Markdown into elements. Control characters are visible.
 */
import { Marked, type Tokens } from "marked";
import { textOfOutput } from "../../../core/index.js";
import { type Json, type StreamItem, textOf } from "../../../index.js";
import { formatDecision } from "../../decisions/format-decision.js";
import { formatEndedAgent } from "../../render/format-ended-agent.js";
import { sanitize, toOneLine, truncate } from "../../terminal/text.js";
import { type Block, createBlockCutter, isDeeplyNested } from "../lines/markdown-blocks.js";
import { pageStyle } from "./session-page-style.js";

export type PageFacts = {
  readonly title: string;
  readonly sessionId: string;
  readonly folder: string | undefined;
  readonly model: string | undefined;
};

type PageCall = {
  readonly type: "call";
  readonly name: string;
  readonly input: Json;
  /** What a person answered, and the input that ran instead, if the person changed it. */
  decision: { readonly text: string; readonly input?: Json } | null;
  result: PageResult | null;
};
type PageResult = { readonly outcome: string; readonly text: string };
type PagePart = { readonly type: "you" | "answer" | "note"; readonly text: string } | PageCall;

/** @param redact removes secrets from a string */
export async function renderSessionPage(
  facts: PageFacts,
  items: AsyncIterable<StreamItem>,
  redact: (text: string) => string,
): Promise<string> {
  const toShown = (text: string) => sanitize(redact(text));
  const parts: PagePart[] = [];
  const calls = new Map<string, PageCall>();
  for await (const item of items) {
    if (item.type === "run_started" || item.type === "steered")
      parts.push(
        item.finishedChild === undefined
          ? { type: "you", text: item.input.map(textOf).join("\n") }
          : { type: "note", text: `${formatEndedAgent(item).text}.` },
      );
    else if (item.type === "message") parts.push({ type: "answer", text: textOf(item.message) });
    else if (item.type === "tool_call") {
      const call: PageCall = { type: "call", name: item.name, input: item.input, decision: null, result: null };
      parts.push(call);
      calls.set(item.callKey, call);
    } else if (item.type === "approval_answered") {
      const call = calls.get(item.callKey);
      if (call !== undefined)
        call.decision = { text: formatDecision(item), ...(item.input === undefined ? {} : { input: item.input }) };
    } else if (item.type === "tool_result") {
      const call = calls.get(item.callKey);
      if (call !== undefined) call.result = { outcome: item.outcome, text: textOfOutput(item.returned ?? item.output) };
    }
  }
  const { title, sessionId, folder, model } = facts;
  const subtitle = [`Session ${sessionId}`, folder, model].filter((fact) => fact !== undefined).map(toShown);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(toOneLine(toShown(title)))}</title>
<style>${pageStyle}</style>
</head>
<body>
<header><h1 dir="auto">${escapeHtml(toOneLine(toShown(title)))}</h1><p>${subtitle.map(escapeHtml).join(" · ")}</p></header>
<main>
${parts
  .map((part) => renderPart(part, toShown))
  .filter((html) => html !== "")
  .join("\n")}
</main>
</body>
</html>
`;
}

function renderPart(part: PagePart, toShown: (text: string) => string): string {
  switch (part.type) {
    case "you":
      return `<section class="you" aria-label="You"><pre dir="auto">${escapeHtml(toShown(part.text))}</pre></section>`;
    case "answer":
      if (part.text.trim() === "") return "";
      return `<section class="answer" dir="auto">${renderMarkdown(toShown(part.text))}</section>`;
    case "note":
      return `<p><small>${escapeHtml(toShown(part.text))}</small></p>`;
    case "call": {
      const { name, input, decision, result } = part;
      const ran = decision?.input ?? input;
      const about = truncate(toOneLine(toShown(typeof ran === "string" ? ran : JSON.stringify(ran))), 80);
      const renderJson = (json: Json) => `<pre dir="auto">${escapeHtml(toShown(JSON.stringify(json, null, 2)))}</pre>`;
      const answer = decision === null ? "" : `<p><small>${escapeHtml(toShown(decision.text))}</small></p>`;
      const changed = decision?.input === undefined ? "" : renderJson(decision.input);
      const end = result === null ? "no result" : result.outcome === "ok" ? "" : result.outcome;
      const output = result === null ? "" : `<pre dir="auto">${escapeHtml(toShown(result.text))}</pre>`;
      return `<details><summary><b>${escapeHtml(toShown(name))}</b> <code>${escapeHtml(about)}</code>${end === "" ? "" : ` <i>${escapeHtml(end)}</i>`}</summary>${renderJson(input)}${answer}${changed}${output}</details>`;
    }
  }
}

/** Renders block by block. Each block is bounded, so hostile text takes no more time than plain text. */
function renderMarkdown(text: string): string {
  const cutter = createBlockCutter();
  return [...cutter.add(text), ...cutter.end()].map(renderBlock).join("");
}

function renderBlock(block: Block): string {
  switch (block.type) {
    case "markdown":
      return isDeeplyNested(block.text) ? `<pre>${escapeHtml(block.text)}</pre>` : String(marked.parse(block.text));
    case "code-start":
      return "<pre><code>";
    case "code":
      return `${escapeHtml(block.line)}\n`;
    case "code-end":
      return "</code></pre>";
    case "blank":
      return "";
  }
}

const marked = new Marked({
  async: false,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ text, href }) => escapeHtml(`${text} (${href})`),
    checkbox: ({ checked }) => (checked ? "[x] " : "[ ] "),
    code: ({ text }) => `<pre><code>${escapeHtml(text)}</code></pre>`,
    link({ href, text, tokens }: Tokens.Link) {
      const inner = this.parser.parseInline(tokens);
      const address = text === href ? "" : ` <small>(${escapeHtml(href)})</small>`;
      return /^(?:https?|mailto):/i.test(href)
        ? `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${inner}</a>${address}`
        : `${inner}${address}`;
    },
  },
});

const htmlEntities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => htmlEntities[character] ?? character);
}
