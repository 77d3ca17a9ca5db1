/**
 * Merges the items of several sources in order of arrival. At most one item of each source waits here.
 */
import type { StreamItem } from "../agent/stream-types.js";

/** An iterator of items. */
export type ItemIterator = {
  readonly next: () => Promise<IteratorResult<StreamItem, unknown>>;
};

type Result = IteratorResult<StreamItem, unknown> | { readonly error: unknown };

export type Arrival<Whose> = { readonly whose: Whose; readonly result: Result };

export type Arrivals<Whose> = {
  /** Adds the pending item of a source. */
  readonly expect: (whose: Whose, item: Promise<IteratorResult<StreamItem, unknown>>) => void;
  /** The next arrival. Waits until one of the expected sources yields an item or ends. */
  readonly next: () => Promise<Arrival<Whose>>;
};

export function createArrivals<Whose>(): Arrivals<Whose> {
  let arrived: Arrival<Whose>[] = [];
  let head = 0;
  let wake = () => {};

  function add(arrival: Arrival<Whose>): void {
    arrived.push(arrival);
    wake();
  }

  return {
    expect(whose, item) {
      item.then(
        (result) => add({ whose, result }),
        (error: unknown) => add({ whose, result: { error } }),
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
