/**
 * Markdown as data: what models write most. It becomes elements of the page's own, never markup.
 *
 * 1. Every character of the text is in the result, or is a sign of Markdown. What is not understood stays as it is.
 * 2. Each line is looked at a bounded number of times, and each character of a line, too.
 * 3. An unfinished text is fine: it may be streaming.
 */

export type Inline =
  | { readonly kind: "text" | "code"; readonly text: string }
  | { readonly kind: "strong" | "em" | "strike"; readonly children: readonly Inline[] }
  /** `href` is an address of the web or of mail. Other addresses stay text. */
  | { readonly kind: "link"; readonly text: string; readonly href: string };

export type Align = "left" | "right" | "center";

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly children: readonly Inline[] }
  | { readonly kind: "paragraph"; readonly children: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "rule" }
  | {
      readonly kind: "list";
      /** The first number; null: a list without numbers. */
      readonly start: number | null;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly kind: "table";
      readonly align: readonly Align[];
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    };

/** Lists and quotes within each other. */
const mostDepth = 8;

export function markdownOf(text: string): readonly Block[] {
  return blocksOf(text.split("\n"), 0);
}

function blocksOf(lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const found = fenceAt(lines, at) ?? headingAt(line, at) ?? tableAt(lines, at) ?? nestedAt(lines, at, depth);
    const [block, next] = found ?? paragraphAt(lines, at);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

type Found = readonly [block: Block, next: number];

const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

function fenceAt(lines: readonly string[], at: number): Found | null {
  const [, sign = "", about = ""] = fence.exec(lines[at] ?? "") ?? [];
  if (sign === "") return null;
  const language = about.trim();
  const isEnd = (line: string) =>
    line.trimStart().startsWith(sign) && line.trim() === sign[0]?.repeat(line.trim().length);
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end += 1;
  return [{ kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function headingAt(line: string, at: number): Found | null {
  const [, signs = "", text = ""] = /^ {0,3}(#{1,6})\s+(\S.*)$/.exec(line) ?? [];
  if (signs !== "") {
    const title = text.replace(/\s#+\s*$/, "").trim();
    return [{ kind: "heading", level: signs.length, children: inlineOf(title) }, at + 1];
  }
  return /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/.test(line) ? [{ kind: "rule" }, at + 1] : null;
}

const tableLine = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;

function tableAt(lines: readonly string[], at: number): Found | null {
  const [head = "", line = ""] = [lines[at], lines[at + 1]];
  if (!head.includes("|") || !tableLine.test(line.trim())) return null;
  const align = cellsOf(line).map(alignOf);
  const heads = cellsOf(head);
  if (heads.length !== align.length) return null;
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = lines.slice(at + 2, end).map((row) => {
    const cells = cellsOf(row);
    const last = align.length - 1;
    // What is too much for the head stands in the last cell.
    return align.map((_, index) => inlineOf(index === last ? cells.slice(last).join(" | ") : (cells[index] ?? "")));
  });
  return [{ kind: "table", align, head: heads.map(inlineOf), rows }, end];
}

function cellsOf(line: string): readonly string[] {
  const cells = line.trim().replace(/^\|/, "").split("|");
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim());
}

function alignOf(cell: string): Align {
  if (!cell.endsWith(":")) return "left";
  return cell.startsWith(":") ? "center" : "right";
}

const item = /^( {0,8})([-*+]|(\d{1,9})[.)])(\s+)(?=\S)/;

/** A quote or a list; what is nested too deep is a paragraph. */
function nestedAt(lines: readonly string[], at: number, depth: number): Found | null {
  if (depth >= mostDepth) return null;
  const line = lines[at] ?? "";
  if (/^ {0,3}>/.test(line)) {
    let end = at;
    while (end < lines.length && /^ {0,3}>/.test(lines[end] ?? "")) end += 1;
    const inner = lines.slice(at, end).map((one) => one.replace(/^ {0,3}> ?/, ""));
    return [{ kind: "quote", blocks: blocksOf(inner, depth + 1) }, end];
  }
  return item.test(line) ? listAt(lines, at, depth) : null;
}

function listAt(lines: readonly string[], at: number, depth: number): Found {
  const [, indent = "", , number] = item.exec(lines[at] ?? "") ?? [];
  const items: string[][] = [];
  let end = at;
  let width = 0;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    const found = item.exec(line);
    const spaces = line.length - line.trimStart().length;
    if (found !== null && spaces <= indent.length + 1) {
      if ((found[3] === undefined) !== (number === undefined)) break;
      width = found[0].length;
      items.push([line.slice(width)]);
    } else if (line.trim() === "") {
      const next = lines[end + 1] ?? "";
      const goesOn = next.trim() !== "" && (next.startsWith(" ".repeat(indent.length + 2)) || item.test(next));
      if (!goesOn) break;
      items.at(-1)?.push("");
    } else if (spaces > indent.length) items.at(-1)?.push(line.slice(Math.min(width, spaces)));
    else break;
  }
  const blocks = items.map((one) => blocksOf(one, depth + 1));
  return [{ kind: "list", start: number === undefined ? null : Number(number), items: blocks }, end];
}

function paragraphAt(lines: readonly string[], at: number): Found {
  let end = at + 1;
  while (end < lines.length && !beginsBlock(lines, end)) end += 1;
  return [{ kind: "paragraph", children: inlineOf(lines.slice(at, end).join("\n")) }, end];
}

function beginsBlock(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  return line.trim() === "" || fence.test(line) || /^ {0,3}(?:#{1,6}\s|>)/.test(line) || item.test(line);
}

/** Signs that open a span, and end it. */
const spans = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "strike"],
  ["*", "em"],
  ["_", "em"],
] as const;

/** Characters between the signs of a span, so that signs without an end cost little. */
const longestSpan = 2_000;

function inlineOf(text: string, depth = 0): readonly Inline[] {
  const parts: Inline[] = [];
  let plain = 0;
  let at = 0;
  const add = (inline: Inline, next: number): void => {
    if (at > plain) parts.push({ kind: "text", text: text.slice(plain, at) });
    parts.push(inline);
    at = next;
    plain = next;
  };
  while (at < text.length) {
    const found = codeAt(text, at) ?? linkAt(text, at) ?? (depth < 3 ? spanAt(text, at, depth) : null);
    if (found !== null) add(...found);
    else if (text[at] === "\\" && /[\\`*_~[\]()#|>-]/.test(text[at + 1] ?? "")) {
      const sign = text[at + 1] ?? "";
      add({ kind: "text", text: sign }, at + 2);
    } else at += 1;
  }
  if (text.length > plain) parts.push({ kind: "text", text: text.slice(plain) });
  return parts;
}

type FoundInline = readonly [inline: Inline, next: number];

function codeAt(text: string, at: number): FoundInline | null {
  if (text[at] !== "`" || text[at - 1] === "`") return null;
  let size = 1;
  while (text[at + size] === "`" && size < 4) size += 1;
  const end = indexWithin(text, "`".repeat(size), at + size);
  return end === -1 ? null : [{ kind: "code", text: text.slice(at + size, end) }, end + size];
}

const bare = /https?:\/\/[^\s<>"'`\u0000-\u001f]{1,1000}/y;

function linkAt(text: string, at: number): FoundInline | null {
  if (text[at] === "h" && !/\w/.test(text[at - 1] ?? "")) {
    bare.lastIndex = at;
    const [found = ""] = bare.exec(text) ?? [];
    const address = found.replace(/[.,;:!?)\]}*_]+$/, "");
    return isAddress(address) ? [{ kind: "link", text: address, href: address }, at + address.length] : null;
  }
  if (text[at] !== "[") return null;
  const middle = indexWithin(text, "](", at);
  if (middle === -1) return null;
  const end = indexWithin(text, ")", middle + 2);
  const href =
    end === -1
      ? ""
      : text
          .slice(middle + 2, end)
          .trim()
          .replace(/\s+"[^"]*"$/, "");
  return isAddress(href) ? [{ kind: "link", text: text.slice(at + 1, middle), href }, end + 1] : null;
}

function isAddress(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\u0000-\u001f]+$/i.test(href) && URL.canParse(href);
}

function spanAt(text: string, at: number, depth: number): FoundInline | null {
  const sign = spans.find(([one]) => text.startsWith(one, at));
  if (sign === undefined) return null;
  const [signs, kind] = sign;
  const start = at + signs.length;
  // Within a word, an underscore is part of a name.
  if (/\s/.test(text[start] ?? " ") || (signs[0] === "_" && /\w/.test(text[at - 1] ?? ""))) return null;
  const end = indexWithin(text, signs, start);
  if (end <= start || /\s/.test(text[end - 1] ?? " ")) return null;
  if (signs[0] === "_" && /\w/.test(text[end + signs.length] ?? "")) return null;
  return [{ kind, children: inlineOf(text.slice(start, end), depth + 1) }, end + signs.length];
}

function indexWithin(text: string, wanted: string, from: number): number {
  const found = text.slice(from, from + longestSpan).indexOf(wanted);
  return found === -1 ? -1 : from + found;
}
