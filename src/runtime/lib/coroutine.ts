/**
 * Coroutines: sequential code that becomes a promise only if something in it is asynchronous.
 *
 * An effect that settles synchronously joins the commit that wanted it. An `async` function never returns synchronously, even
 * if it awaits nothing; a coroutine does.
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
 * An operand of `yield*`. A value that is not a promise is wrapped in one object that is both an iterator and that iterator's
 * last result: a generator for each value would cost more.
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

/** Runs a coroutine. Returns its result directly, or a promise if the coroutine waits for one. */
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

/** Whether a value is a promise, or a promise-like object of another library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
