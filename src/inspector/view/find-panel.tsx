/**
 * Searches the session: requests, the model's text, and the inputs and results of calls.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { parseCallKey } from "../../core/data/call-key.js";
import { formatCursor } from "../../stream/cursor.js";
import { formatErrorMessage } from "../api.js";
import { type Match, toRouteTarget } from "../state/find.js";
import { formatCount } from "../state/format.js";
import type { SessionState } from "../state/session-state.js";
import { useInspector } from "./hooks.js";
import { WindowedList } from "./windowed-list.js";

/** The same value as in the style sheet. */
const rowHeight = 44;
/** How long typing must pause before the search begins, in milliseconds. */
const searchDelayMs = 250;
const maxMatches = 500;

export type FindPanelProps = {
  readonly session: SessionState;
  readonly onGo: (target: ReturnType<typeof toRouteTarget>) => void;
  readonly onClose: () => void;
};

export function FindPanel({ session, onGo, onClose }: FindPanelProps) {
  const [text, setText] = useState("");
  const [selectedIndex, setSelectedIndex] = useState(0);
  const { matches, isOver, problem } = useMatches(session.id, text.trim());
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const selected = Math.min(selectedIndex, matches.length - 1);
  const selectMatch = (index: number) => {
    const match = matches[index];
    setSelectedIndex(Math.max(0, index));
    if (match !== undefined) onGo(toRouteTarget(match, session.rows));
  };
  const handleKeyDown = (event: KeyboardEvent) => {
    const direction = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (direction !== 0) selectMatch(Math.min(matches.length - 1, Math.max(0, selected + direction)));
    else if (event.key === "Enter") selectMatch(selected);
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
            setSelectedIndex(0);
          }}
          onKeyDown={handleKeyDown}
        />
        <button type="button" class="quiet" onClick={onClose}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <p class="find-state dim" role="status">
        {formatSearchState(text.trim(), matches.length, isOver, problem)}
      </p>
      <WindowedList
        items={matches}
        rowHeight={rowHeight}
        label="Matches"
        selected={selected}
        toId={(match) => `match-${formatCursor(match)}`}
        onKeyDown={handleKeyDown}
      >
        {(match, index) => (
          <MatchLine
            match={match}
            isSelected={index === selected}
            onSelect={() => selectMatch(index)}
            key={formatCursor(match)}
          />
        )}
      </WindowedList>
    </section>
  );
}

function formatSearchState(text: string, count: number, isOver: boolean, problem: string | null): string {
  if (problem !== null) return problem;
  if (text === "") return "In requests, answers, calls and results.";
  const found = count === 1 ? "1 match" : `${formatCount(count)}${isOver ? "" : "+"} matches`;
  return isOver ? found : `${found}, searching…`;
}

const fieldLabels: { readonly [where in Match["where"]]: string } = {
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
  const { where, name, before, match: matchText, after, callKey, modelCallIndex } = match;
  const step = modelCallIndex ?? (callKey === undefined ? undefined : parseCallKey(callKey).modelCallIndex);
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
        {fieldLabels[where]}
        {name !== undefined && <span class="mono"> {name}</span>}
      </span>
      <span class="cut words" dir="auto">
        {before.slice(-24)}
        <mark>{matchText}</mark>
        {after}
      </span>
    </div>
  );
}

type SearchState = {
  readonly text: string;
  readonly matches: readonly Match[];
  readonly isOver: boolean;
  readonly problem: string | null;
};
const noMatches: SearchState = { text: "", matches: [], isOver: true, problem: null };

/** Searches page by page, until there are enough matches or the text changes. */
function useMatches(sessionId: string, text: string): SearchState {
  const inspector = useInspector();
  const [found, setFound] = useState<SearchState>(noMatches);
  useEffect(() => {
    if (text === "") return setFound(noMatches);
    let isCurrent = true;
    const search = async () => {
      const matches: Match[] = [];
      for (let after: string | null = ""; after !== null && isCurrent && matches.length < maxMatches; ) {
        const path = `/v1/sessions/${encodeURIComponent(sessionId)}/find`;
        const page: { readonly matches: readonly Match[]; readonly next: string | null } = await inspector.api.get(
          path,
          {
            q: text,
            after,
            limit: 100,
          },
        );
        matches.push(...page.matches);
        after = page.next;
        if (isCurrent) setFound({ text, matches: [...matches], isOver: after === null, problem: null });
      }
    };
    const timer = setTimeout(() => {
      search().catch(
        (error: unknown) => isCurrent && setFound({ ...noMatches, text, problem: formatErrorMessage(error) }),
      );
    }, searchDelayMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [sessionId, text]);
  // Matches of another search text do not apply to this one.
  return found.text === text ? found : { ...noMatches, text, isOver: false };
}
