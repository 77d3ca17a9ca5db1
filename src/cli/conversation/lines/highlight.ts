/**
 * Colours of code, line by line.
 *
 * 1. A line costs no more than its length, and a long line is plain. A library of patterns may take seconds for one.
 * 2. What a line leaves open (a comment, a string) is remembered for the next one by the mark that opened it.
 * 3. The text of the spans is the line, whatever the library makes of it.
 * 4. The library takes longer to load than all else that a prompt needs. It is loaded when a session
 *    has something to show.
 */
import type { Highlighted } from "highlight.js/lib/common";
import { type Line, type Span, spanOf } from "../../screen/line.js";
import type { TextStyle } from "../../terminal/text-style.js";

export type Highlighter = {
  /** The line in colours. It counts as the one that follows the last line which was `next`. */
  readonly peek: (line: string) => Line;
  /** The same, and the following line goes on behind it. */
  readonly next: (line: string) => Line;
};

/** Characters. A longer line is plain. */
const longest = 400;

/** What opens a comment or a string that may be several lines long. */
const openingMarks = ["/*", "<!--", '"""', "'''", "`", "{-", "--[[", "#="] as const;
type OpeningMark = (typeof openingMarks)[number];

const plainCode: TextStyle = "cyan";

type Library = typeof import("highlight.js/lib/common")["default"];
let library: Library | undefined;

/** Loads the library. Until it is there, all code is plain. */
export async function loadHighlighting(): Promise<void> {
  library ??= (await import("highlight.js/lib/common")).default;
}

export function createHighlighter(language: string): Highlighter {
  const name = language.toLowerCase();
  const hljs = /^[a-z0-9+#.-]{1,24}$/.test(name) && library?.getLanguage(name) !== undefined ? library : undefined;
  let openMark: OpeningMark | null = null;

  function highlightLine(line: string): { readonly line: Line; readonly openMark: OpeningMark | null } {
    if (hljs === undefined || line.length > longest)
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

/** What the line leaves open: the mark that stands last in it, if the line ends within a comment or a string. */
function findOpenMark({ _top }: Highlighted, line: string): OpeningMark | null {
  const scope = (_top as { readonly scope?: unknown } | undefined)?.scope;
  if (scope !== "comment" && scope !== "string") return null;
  let [found, at]: [OpeningMark | null, number] = [null, -1];
  for (const opener of openingMarks) {
    const place = line.lastIndexOf(opener);
    if (place > at) [found, at] = [opener, place];
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

/** The library gives elements of HTML, one within another. The innermost one that has a colour counts. */
function parseSpans(html: string): readonly Span[] {
  const spans: Span[] = [];
  const styles: (TextStyle | undefined)[] = [];
  for (const [token, name] of html.matchAll(
    /<span class="hljs-([^" ]*)[^"]*">|<\/span>|<span[^>]*>|&[#a-z0-9]+;|[^<&]+|[<&]/g,
  )) {
    if (token.startsWith("<span")) styles.push(colourByScope[name ?? ""] ?? styles.at(-1));
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

const colourByScope: { readonly [scope: string]: TextStyle | undefined } = {
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
