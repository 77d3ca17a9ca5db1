/**
 * A list of any length that keeps only the visible rows in the document.
 *
 * 1. All rows have the same height, so an index in the list corresponds to a number of pixels.
 * 2. While the end is in view, the list stays at its end when rows are added or its height changes. Otherwise nothing moves.
 * 3. The list itself has the focus, and names the selected row, because a row may leave the document at any time.
 * 4. Related rows are in a named group, which remains when the group's first row is out of view.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** A group of related rows: from this index to the beginning of the next group. */
export type RowGroup = { readonly at: number; readonly label: string };

const ungrouped: readonly RowGroup[] = [];

export type WindowedListProps<Item> = {
  readonly items: readonly Item[];
  /** The groups, in the order of the rows. Default: none. */
  readonly groups?: readonly RowGroup[];
  readonly rowHeight: number;
  readonly label: string;
  /** The index of the selected row; -1 if no row is selected. */
  readonly selected: number;
  readonly toId: (item: Item) => string;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children: (item: Item, index: number) => ComponentChildren;
};

/** How many rows beyond the edges are in the document, so that a short scroll shows no gap. */
const overscan = 8;

export function WindowedList<Item>(props: WindowedListProps<Item>) {
  const { items, groups = ungrouped, rowHeight, label, selected, toId, onKeyDown, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 800 });

  const updateView = () => {
    const { current } = box;
    if (current === null) return;
    const { scrollTop, clientHeight, scrollHeight } = current;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
    setView((previous) =>
      previous.top === scrollTop && previous.height === clientHeight
        ? previous
        : { top: scrollTop, height: clientHeight },
    );
  };

  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
      updateView();
    });
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || !isAtEnd.current) return;
    current.scrollTop = current.scrollHeight;
    updateView();
  }, [items.length]);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || selected < 0) return;
    const top = selected * rowHeight;
    if (top < current.scrollTop) current.scrollTop = Math.max(0, top - rowHeight);
    else if (top + rowHeight > current.scrollTop + current.clientHeight)
      current.scrollTop = top + 2 * rowHeight - current.clientHeight;
    updateView();
  }, [selected]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  const current = items[selected];
  return (
    <div
      class="windowed"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={label}
      {...(current === undefined ? {} : { "aria-activedescendant": toId(current) })}
      onScroll={updateView}
      onKeyDown={onKeyDown}
    >
      <div class="windowed-space" style={{ height: `${items.length * rowHeight}px` }}>
        <div class="windowed-rows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {splitByGroup(groups, first, last).map(({ group, from, to }) => {
            const rows = items.slice(from, to).map((item, index) => children(item, from + index));
            return group === null ? (
              rows
            ) : (
              <div key={`group ${group.at}`} role="group" aria-label={group.label}>
                {rows}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

type RowSlice = { readonly group: RowGroup | null; readonly from: number; readonly to: number };

/** Splits the rows from `first` to before `last` at the beginnings of groups. */
function splitByGroup(groups: readonly RowGroup[], first: number, last: number): readonly RowSlice[] {
  const parts: RowSlice[] = [];
  let group: RowGroup | null = null;
  let from = first;
  for (const next of groups) {
    if (next.at >= last) break;
    if (next.at > from) {
      parts.push({ group, from, to: next.at });
      from = next.at;
    }
    group = next;
  }
  if (from < last) parts.push({ group, from, to: last });
  return parts;
}
