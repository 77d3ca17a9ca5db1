/**
 * Finds a text in the session: in requests, in what the model wrote, in inputs and results of calls.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatCursor } from "../../stream/cursor.js";
import { messageOf } from "../api.js";
import { type Match, placeOfMatch } from "../state/find.js";
import { whole } from "../state/format.js";
import type { SessionState } from "../state/session-state.js";
import { useInspector } from "./hooks.js";
import { WindowedList } from "./windowed-list.js";

/** As in the style sheet. */
const rowHeight = 44;
/** How long nobody types before the search begins, in milliseconds. */
const restMs = 250;
const mostMatches = 500;

export type FindPanelProps = {
  readonly session: SessionState;
  readonly onGo: (place: ReturnType<typeof placeOfMatch>) => void;
  readonly onClose: () => void;
};

export function FindPanel({ session, onGo, onClose }: FindPanelProps) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { matches, isOver, problem } = useMatches(session.id, text.trim());
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const selected = Math.min(at, matches.length - 1);
  const show = (index: number) => {
    const match = matches[index];
    setAt(Math.max(0, index));
    if (match !== undefined) onGo(placeOfMatch(match, session.rows));
  };
  const press = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) show(Math.min(matches.length - 1, Math.max(0, selected + by)));
    else if (event.key === "Enter") show(selected);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="step-list find-panel" aria-label="Find in this session">
      <div class="step-filters">
        <input
          ref={input}
          type="search"
          placeholder="Find in this session"
          aria-label="Find in this session"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
        <button type="button" class="quiet" onClick={onClose}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <p class="find-state dim" role="status">
        {stateText(text.trim(), matches.length, isOver, problem)}
      </p>
      <WindowedList
        items={matches}
        rowHeight={rowHeight}
        label="Matches"
        selected={selected}
        idOf={(match) => `match-${formatCursor(match)}`}
        onKeyDown={press}
      >
        {(match, index) => (
          <MatchLine
            match={match}
            isSelected={index === selected}
            onSelect={() => show(index)}
            key={formatCursor(match)}
          />
        )}
      </WindowedList>
    </section>
  );
}

function stateText(text: string, count: number, isOver: boolean, problem: string | null): string {
  if (problem !== null) return problem;
  if (text === "") return "In requests, answers, calls and results.";
  const found = count === 1 ? "1 match" : `${whole(count)}${isOver ? "" : "+"} matches`;
  return isOver ? found : `${found}, searching…`;
}

const whereWords: { readonly [where in Match["where"]]: string } = {
  request: "request",
  text: "said",
  reasoning: "reasoning",
  call: "call",
  result: "result",
  summary: "summary",
};

function MatchLine({
  match,
  isSelected,
  onSelect,
}: {
  readonly match: Match;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}) {
  const { where, name, before, match: words, after, callKey, modelCallIndex } = match;
  const step = modelCallIndex ?? (callKey === undefined ? undefined : Number(callKey.split("/").at(-2)));
  return (
    <div
      id={`match-${formatCursor(match)}`}
      role="option"
      tabIndex={-1}
      aria-selected={isSelected}
      class={isSelected ? "line match selected" : "line match"}
      onClick={onSelect}
    >
      <span class="num dim index">{step ?? ""}</span>
      <span class="dim">
        {whereWords[where]}
        {name !== undefined && <span class="mono"> {name}</span>}
      </span>
      <span class="cut words" dir="auto">
        {before.slice(-24)}
        <mark>{words}</mark>
        {after}
      </span>
    </div>
  );
}

type Found = {
  readonly text: string;
  readonly matches: readonly Match[];
  readonly isOver: boolean;
  readonly problem: string | null;
};
const nothing: Found = { text: "", matches: [], isOver: true, problem: null };

/** Searches page by page, until there are enough matches or the text is another one. */
function useMatches(sessionId: string, text: string): Found {
  const inspector = useInspector();
  const [found, setFound] = useState<Found>(nothing);
  useEffect(() => {
    if (text === "") return setFound(nothing);
    let isCurrent = true;
    const search = async () => {
      const matches: Match[] = [];
      for (let after: string | null = ""; after !== null && isCurrent && matches.length < mostMatches; ) {
        const path = `/v1/sessions/${encodeURIComponent(sessionId)}/find`;
        const page: { readonly matches: readonly Match[]; readonly next: string | null } = await inspector.api.get(
          path,
          {
            ...{ q: text, after, limit: 100 },
          },
        );
        matches.push(...page.matches);
        after = page.next;
        if (isCurrent) setFound({ text, matches: [...matches], isOver: after === null, problem: null });
      }
    };
    const timer = setTimeout(() => {
      search().catch((error: unknown) => isCurrent && setFound({ ...nothing, text, problem: messageOf(error) }));
    }, restMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [sessionId, text]);
  // What was found of another text says nothing of this one.
  return found.text === text ? found : { ...nothing, text, isOver: false };
}
