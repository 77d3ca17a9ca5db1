/**
 * Items that are opened when the first one is requested. Like a generator, without its cost for each item; and `return` ends them even
 * while an item is requested.
 */

/** Has what all generators have: they are iterable, and can be disposed of in runtimes that know of it. */
const asyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype));

const done = { done: true, value: undefined } as const;

export function createLazyItems<Item>(
  open: () => Promise<AsyncIterator<Item, unknown, undefined>>,
): AsyncGenerator<Item, void, undefined> {
  let openItems: typeof open | null = open;
  let opening: Promise<void> | null = null;
  let items: AsyncIterator<Item, unknown, undefined> | null = null;
  let isClosed = false;

  async function begin(opened: typeof open): Promise<void> {
    try {
      items = await opened();
    } catch (error) {
      isClosed = true;
      throw error;
    }
  }

  function next(): Promise<IteratorResult<Item, void>> {
    if (isClosed) return Promise.resolve(done);
    if (items !== null) return items.next() as Promise<IteratorResult<Item, void>>;
    if (openItems !== null) opening = begin(openItems);
    openItems = null;
    return (opening ?? Promise.resolve()).then(next);
  }

  async function end(): Promise<IteratorResult<Item, void>> {
    isClosed = true;
    openItems = null;
    await opening?.catch(() => {});
    await items?.return?.();
    return done;
  }

  const methods = {
    next,
    return: end,
    async throw(error: unknown): Promise<never> {
      await end();
      throw error;
    },
  };
  return Object.assign(Object.create(asyncIteratorPrototype), methods);
}
