/**
 * Merges the items of several sources in order of arrival. At most one item of each source is buffered here.
 */
import type { StreamItem } from "../agent/stream-types.js";

/** An iterator of items. */
export type ItemIterator = {
  readonly next: () => Promise<IteratorResult<StreamItem, unknown>>;
};

type Result = IteratorResult<StreamItem, unknown> | { readonly error: unknown };

export type Arrival<Source> = { readonly source: Source; readonly result: Result };

export type Arrivals<Source> = {
  /** Adds the pending item of a source. */
  readonly expect: (source: Source, item: Promise<IteratorResult<StreamItem, unknown>>) => void;
  /** The next arrival. Waits until one of the expected sources yields an item or ends. */
  readonly next: () => Promise<Arrival<Source>>;
};

export function createArrivals<Source>(): Arrivals<Source> {
  let arrived: Arrival<Source>[] = [];
  let head = 0;
  let wake = () => {};

  function add(arrival: Arrival<Source>): void {
    arrived.push(arrival);
    wake();
  }

  return {
    expect(source, item) {
      item.then(
        (result) => add({ source, result }),
        (error: unknown) => add({ source, result: { error } }),
      );
    },
    async next() {
      for (;;) {
        const first = arrived[head];
        if (first !== undefined) {
          head += 1;
          if (head === arrived.length) {
            arrived = [];
            head = 0;
          }
          return first;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
