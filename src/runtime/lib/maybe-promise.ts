/** What can be waited for. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Like `try` and `catch`, where the work may answer at once or promise to; what `next` throws goes to `failed`, too. */
export function attempted<Value, Next>(
  work: () => Value | Promise<Value>,
  next: (value: Value) => Next,
  failed: (error: unknown) => Next,
): Next | Promise<Next> {
  try {
    const value = work();
    return value instanceof Promise ? value.then(next).catch(failed) : next(value);
  } catch (error) {
    return failed(error);
  }
}

/** Goes on at once where there is nothing to wait for. */
export function andThen<Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}
