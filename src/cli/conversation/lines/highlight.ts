/**
 * Highlights code, line by line.
 *
 * 1. The cost of a line is bounded: a long line stays plain, because the library's patterns may take seconds for one.
 * 2. If a comment or a string continues after the line, the mark that opened it is remembered for the next line.
 * 3. The text of the spans is the text of the line, whatever the library returns.
 * 4. The library takes longer to load than everything else that a prompt needs, so it is loaded when a session has
 *    something to show.
 */
import type { Highlighted } from "highlight.js/lib/common";
import { type Line, type Span, spanOf } from "../../screen/line.js";
import type { TextStyle } from "../../terminal/text-style.js";

export type Highlighter = {
  /** Highlights a line as if it followed the last `next` line, without remembering it. */
  readonly peek: (line: string) => Line;
  /** Highlights a line, and remembers it for the following one. */
  readonly next: (line: string) => Line;
};

/** A longer line stays plain; characters. */
const maxLineLength = 400;

/** The marks that open a comment or string of several lines. */
const openingMarks = ["/*", "<!--", '"""', "'''", "`", "{-", "--[[", "#="] as const;
type OpeningMark = (typeof openingMarks)[number];

const plainCode: TextStyle = "cyan";

type Library = typeof import("highlight.js/lib/common")["default"];
let library: Library | undefined;

/** Loads the library. Until it is loaded, all code is plain. */
export async function loadHighlighting(): Promise<void> {
  library ??= (await import("highlight.js/lib/common")).default;
}

export function createHighlighter(language: string): Highlighter {
  const name = language.toLowerCase();
  const hljs = /^[a-z0-9+#.-]{1,24}$/.test(name) && library?.getLanguage(name) !== undefined ? library : undefined;
  let openMark: OpeningMark | null = null;

  function highlightLine(line: string): { readonly line: Line; readonly openMark: OpeningMark | null } {
    if (hljs === undefined || line.length > maxLineLength)
      return { line: [spanOf(line, hljs === undefined ? plainCode : undefined)], openMark: null };
    const prefix = openMark ?? "";
    const result = hljs.highlight(`${prefix}${line}`, { language: name, ignoreIllegals: true });
    const spans = dropPrefix(parseSpans(result.value), prefix.length);
    const isWhole = spans.map(({ text }) => text).join("") === line;
    return { line: isWhole ? spans : [spanOf(line)], openMark: findOpenMark(result, `${prefix}${line}`) };
  }

  return {
    peek: (line) => highlightLine(line).line,
    next(line) {
      const found = highlightLine(line);
      openMark = found.openMark;
      return found.line;
    },
  };
}

/** Finds the mark that is still open: the last one in the line, if the line ends within a comment or a string. */
function findOpenMark({ _top }: Highlighted, line: string): OpeningMark | null {
  const scope = (_top as { readonly scope?: unknown } | undefined)?.scope;
  if (scope !== "comment" && scope !== "string") return null;
  let [found, at]: [OpeningMark | null, number] = [null, -1];
  for (const opener of openingMarks) {
    const index = line.lastIndexOf(opener);
    if (index > at) [found, at] = [opener, index];
  }
  return found;
}

const entities: { readonly [entity: string]: string | undefined } = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** Parses the nested HTML elements that the library returns. The innermost element with a color wins. */
function parseSpans(html: string): readonly Span[] {
  const spans: Span[] = [];
  const styles: (TextStyle | undefined)[] = [];
  for (const [token, name] of html.matchAll(
    /<span class="hljs-([^" ]*)[^"]*">|<\/span>|<span[^>]*>|&[#a-z0-9]+;|[^<&]+|[<&]/g,
  )) {
    if (token.startsWith("<span")) styles.push(colorByScope[name ?? ""] ?? styles.at(-1));
    else if (token === "</span>") styles.pop();
    else appendSpan(spans, entities[token] ?? token, styles.at(-1));
  }
  return spans;
}

function appendSpan(spans: Span[], text: string, style: TextStyle | undefined): void {
  const last = spans.at(-1);
  if (last !== undefined && last.style === style) spans.splice(-1, 1, spanOf(last.text + text, style));
  else spans.push(spanOf(text, style));
}

function dropPrefix(spans: readonly Span[], length: number): readonly Span[] {
  const kept: Span[] = [];
  let left = length;
  for (const span of spans) {
    const text = span.text.slice(Math.min(left, span.text.length));
    left -= span.text.length - text.length;
    if (text !== "") kept.push(spanOf(text, span.style));
  }
  return kept;
}

const colorByScope: { readonly [scope: string]: TextStyle | undefined } = {
  addition: "green",
  attr: "cyan",
  attribute: "cyan",
  built_in: "cyan",
  bullet: "yellow",
  comment: "dim",
  deletion: "red",
  doctag: "dim",
  keyword: "magenta",
  link: "underline",
  literal: "yellow",
  meta: "magenta",
  name: "blue",
  number: "yellow",
  property: "cyan",
  quote: "dim",
  regexp: "green",
  section: "bold",
  "selector-class": "blue",
  "selector-id": "blue",
  "selector-tag": "magenta",
  string: "green",
  strong: "bold",
  symbol: "yellow",
  tag: "blue",
  title: "blue",
  type: "cyan",
};
