/**
 * Plain data that others may look at and must not change.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  // Without the array that `Object.values` makes: it is plain data, and a good part of what an event costs those who watch.
  for (const key in value) if (typeof value[key] === "object") freeze(value[key]);
  return value;
}
