/**
 * Components that all screens share. Text of models, tools and people is always rendered as text, never as markup.
 */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { fileEditIn } from "../../core/data/file-edit.js";
import { isObject } from "../../core/data/is-object.js";
import type { Json } from "../../index.js";
import { formatAge, formatAgo, formatBytes, formatClockTime, formatExactTime } from "../state/format.js";
import { countHidden, splitHidden } from "../state/hidden-text.js";
import { diffLines } from "../state/line-diff.js";
import { formatFragment, type Route } from "../state/route.js";
import { useInspector, useNow } from "./hooks.js";

type TimeProps = {
  readonly at: number;
  /** In a list, the row has the focus and shows the exact time. Elsewhere, the time itself can be focused. */
  readonly isInList?: boolean;
};

/** How long ago something was, with the exact time on hover and focus. */
export function Age({ at, isInList = false }: TimeProps) {
  return <Moment at={at} isInList={isInList} text={formatAge(at, useAgeClock(at))} />;
}

/** The same for use in a sentence. */
export function Ago({ at }: { readonly at: number }) {
  return <Moment at={at} isInList={false} text={formatAgo(at, useAgeClock(at))} />;
}

/** The current time, updated as often as an age changes. */
function useAgeClock(at: number): number {
  return useNow(Date.now() - at < 60_000 ? 1_000 : 15_000);
}

/** The time of day of an event, with its date on hover and focus. */
export function Clock({ at, isInList = false }: TimeProps) {
  return <Moment at={at} isInList={isInList} text={formatClockTime(at)} />;
}

function Moment({ at, isInList, text }: Required<TimeProps> & { readonly text: string }) {
  const exact = formatExactTime(at);
  return (
    <time
      class="num moment"
      dateTime={new Date(at).toISOString()}
      title={exact}
      data-exact={exact}
      {...(isInList ? {} : { tabIndex: 0 })}
    >
      {text}
    </time>
  );
}

/** The head of a table whose columns have one name each. */
export function ColumnHeads({ heads }: { readonly heads: readonly string[] }) {
  return (
    <thead>
      <tr>
        {heads.map((head) => (
          <th scope="col" key={head}>
            {head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A link within the page. */
export function RouteLink({
  to,
  children,
  ...rest
}: {
  readonly to: Route;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly tabIndex?: number;
  readonly "aria-current"?: "page" | undefined;
}) {
  const inspector = useInspector();
  const handleClick = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    inspector.navigate(to);
  };
  return (
    <a href={formatFragment(to)} onClick={handleClick} {...rest}>
      {children}
    </a>
  );
}

/** The number of characters that are shown at first. */
const maxShown = 20_000;

/** Plain text with its line breaks. Long text is truncated until the person expands it. */
export function PlainText({ text, mono = false }: { readonly text: string; readonly mono?: boolean }) {
  const [isWhole, setIsWhole] = useState(false);
  const isCut = text.length > maxShown && !isWhole;
  return (
    <div class={mono ? "plain mono" : "plain"} dir="auto">
      {isCut ? text.slice(0, maxShown) : text}
      {isCut && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          Show all ({formatBytes(text.length)})
        </button>
      )}
    </div>
  );
}

/** Text with all hidden characters marked. It is never truncated. */
export function ExactText({ text }: { readonly text: string }) {
  const pieces = splitHidden(text);
  return (
    <div class="plain mono exact" dir="auto">
      {pieces.map((piece) => (piece.isHidden ? <mark class="hidden-char">{piece.text}</mark> : piece.text))}
    </div>
  );
}

/** Warns that a value has invisible characters. */
export function HiddenWarning({ value }: { readonly value: unknown }) {
  const count = countHidden(splitHidden(typeof value === "string" ? value : collectStrings(value).join("\n")));
  if (count === 0) return null;
  return (
    <p class="warning">
      {count === 1 ? "One character" : `${count} characters`} of this input cannot be seen. They are marked like{" "}
      <mark class="hidden-char">{"\\u{202e}"}</mark>.
    </p>
  );
}

function collectStrings(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(collectStrings);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => [name, ...collectStrings(one)]);
}

/**
 * An input or another value, with one line for each field. The edit of a file is shown as a difference.
 * @param isExact whether everything is shown, including hidden characters: for values that a person approves
 */
export function Fields({ value, isExact = false }: { readonly value: unknown; readonly isExact?: boolean }) {
  const text = (one: string) => (isExact ? <ExactText text={one} /> : <PlainText text={one} mono />);
  if (!isObject(value)) return text(toText(value));
  const entries = Object.entries(value);
  if (entries.length === 0) return <p class="dim">no input</p>;
  const fileEdit = fileEditIn(value as Json);
  const visible = entries.filter(([name]) => fileEdit === null || !fileEdit.fields.includes(name));
  return (
    <>
      <dl class="fields">
        {visible.map(([name, one]) => (
          <>
            <dt>{isExact ? <ExactText text={name} /> : name}</dt>
            <dd>{text(toText(one))}</dd>
          </>
        ))}
      </dl>
      {fileEdit !== null && <Difference before={fileEdit.before} after={fileEdit.after} isExact={isExact} />}
    </>
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

const signs = { same: " ", removed: "−", added: "+" } as const;
const kindLabels = { same: "unchanged", removed: "removed", added: "added" } as const;

/** The number of lines of a difference that are shown at first, unless a person has to approve it. */
const maxDiffLines = 200;

/** The difference between two texts: changed lines, and the lines between them. */
export function Difference({
  before,
  after,
  isExact = false,
}: {
  readonly before: string;
  readonly after: string;
  readonly isExact?: boolean;
}) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const [isWhole, setIsWhole] = useState(isExact);
  const visible = isWhole ? lines : lines.slice(0, maxDiffLines);
  return (
    <div class="diff mono" role="group" aria-label="The change">
      {visible.map(({ kind, text }, index) => (
        <div class={`line ${kind}`} key={index}>
          <span class="sign" role="img" aria-label={kindLabels[kind]}>
            {signs[kind]}
          </span>
          {isExact ? <ExactText text={text} /> : <span class="plain">{text}</span>}
        </div>
      ))}
      {visible.length < lines.length && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </div>
  );
}

/** A placeholder for missing content. */
export function EmptyState({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function LoadFailure({ message, retry }: { readonly message: string; readonly retry?: () => void }) {
  return (
    <div class="empty" role="alert">
      <h2>This could not be loaded</h2>
      <p>{message}</p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Tabs, each with its own URL. */
export function Tabs<Name extends string>({
  names,
  selected,
  onSelect,
  label,
}: {
  readonly names: readonly (readonly [name: Name, title: string])[];
  readonly selected: Name;
  readonly onSelect: (name: Name) => void;
  readonly label: string;
}) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = names.findIndex(([name]) => name === selected);
    const next = names[(at + step + names.length) % names.length];
    if (next === undefined) return;
    onSelect(next[0]);
    document.getElementById(`tab-${next[0]}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map(([name, title]) => (
        <button
          type="button"
          role="tab"
          id={`tab-${name}`}
          key={name}
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
