/**
 * An iterator that opens its source when the first item is requested. It is like a generator, but without the generator's cost per
 * item, and `return` works even while a request is pending.
 */

/** The prototype that all async generators share: it makes them iterable, and disposable in runtimes that support that. */
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
