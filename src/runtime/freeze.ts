/**
 * Plain data that others may look at and must not change.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) if (typeof inner === "object") freeze(inner);
  return value;
}
