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
export function wait<Value>(value: MaybePromise<Value>): Awaitable<Value> {
  return value instanceof Promise
    ? waitFor(value)
    : { value, done: true, next: returnThis, [Symbol.iterator]: returnThis };
}

/**
 * What `yield*` takes. A value that is no promise is its own iterator, and the last result of that iterator: a generator for each
 * would cost more.
 */
export type Awaitable<Value> =
  | Coroutine<Value>
  | (IteratorReturnResult<Value> & { next(): Awaitable<Value>; [Symbol.iterator](): Awaitable<Value> });

function* waitFor<Value>(promise: Promise<Value>): Coroutine<Value> {
  return (yield promise) as Value;
}

function returnThis<This>(this: This): This {
  return this;
}

/** The result. It is a promise from the first promise on that the coroutine waits for. */
export function runCoroutine<Result>(coroutine: Awaitable<Result>): MaybePromise<Result> {
  return "value" in coroutine ? coroutine.value : advance(coroutine, coroutine.next());
}

function advance<Result>(
  coroutine: Coroutine<Result>,
  step: IteratorResult<Promise<unknown>, Result>,
): MaybePromise<Result> {
  if (step.done === true) return step.value;
  return step.value.then(
    (value) => advance(coroutine, coroutine.next(value)),
    (error) => advance(coroutine, coroutine.throw(error)),
  );
}

/** A promise, or an object of another library that can be waited for as one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
