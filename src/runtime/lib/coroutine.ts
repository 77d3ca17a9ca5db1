/**
 * Coroutines: code that reads from top to bottom and becomes a promise only if something in it takes time.
 *
 * An effect that answers at once joins the commit that wanted it. An `async` function never answers at once, even if it waits
 * for nothing; a coroutine does.
 */

export type MaybePromise<Value> = Value | Promise<Value>;

/** A generator that yields the promises that it waits for. Write `yield* other()` to call another coroutine. */
export type Coroutine<Result> = Generator<Promise<unknown>, Result, unknown>;

/** Waits for a value that may be a promise: `const input = yield* wait(validate(call));`. */
export function* wait<Value>(value: MaybePromise<Value>): Coroutine<Value> {
  return value instanceof Promise ? ((yield value) as Value) : value;
}

/** The result, or a promise of it from the first promise on that the coroutine waits for. */
export function runCoroutine<Result>(coroutine: Coroutine<Result>): MaybePromise<Result> {
  const step = coroutine.next();
  return step.done === true ? step.value : runToEnd(coroutine, step.value);
}

async function runToEnd<Result>(coroutine: Coroutine<Result>, first: Promise<unknown>): Promise<Result> {
  let promise = first;
  for (;;) {
    const step = await promise.then(
      (value) => coroutine.next(value),
      (error) => coroutine.throw(error),
    );
    if (step.done === true) return step.value;
    promise = step.value;
  }
}

/** A promise, or an object of another library that can be waited for as one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
