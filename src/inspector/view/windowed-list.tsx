/**
 * A list of any length, of which only the rows in view are in the document.
 *
 * 1. All rows have one height, so a place in the list is a number of pixels.
 * 2. While the end is in view, the list stays at its end when rows arrive. Otherwise nothing moves.
 * 3. The list has the focus, and names the row that is selected: a row may leave the document at any time.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export type WindowedListProps<Item> = {
  readonly items: readonly Item[];
  readonly rowHeight: number;
  readonly label: string;
  /** The place of the row that is selected; -1: none. */
  readonly selected: number;
  readonly idOf: (item: Item) => string;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children: (item: Item, index: number) => ComponentChildren;
};

/** Rows beyond the edges that are in the document, so that a short scroll shows no gap. */
const overscan = 8;

export function WindowedList<Item>(props: WindowedListProps<Item>) {
  const { items, rowHeight, label, selected, idOf, onKeyDown, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 800 });

  const look = () => {
    const { current } = box;
    if (current === null) return;
    const { scrollTop, clientHeight, scrollHeight } = current;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
    setView((known) =>
      known.top === scrollTop && known.height === clientHeight ? known : { top: scrollTop, height: clientHeight },
    );
  };

  useEffect(() => {
    const observer = new ResizeObserver(look);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || !isAtEnd.current) return;
    current.scrollTop = current.scrollHeight;
    look();
  }, [items.length]);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || selected < 0) return;
    const top = selected * rowHeight;
    if (top < current.scrollTop) current.scrollTop = Math.max(0, top - rowHeight);
    else if (top + rowHeight > current.scrollTop + current.clientHeight)
      current.scrollTop = top + 2 * rowHeight - current.clientHeight;
    look();
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
      {...(current === undefined ? {} : { "aria-activedescendant": idOf(current) })}
      onScroll={look}
      onKeyDown={onKeyDown}
    >
      <div class="windowed-space" style={{ height: `${items.length * rowHeight}px` }}>
        <div class="windowed-rows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {items.slice(first, last).map((item, index) => children(item, first + index))}
        </div>
      </div>
    </div>
  );
}
