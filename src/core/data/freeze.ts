/**
 * Freezes plain data that others may read and must not change, with everything in it.
 *
 * An object that is frozen already counts as frozen with everything in it. So data is frozen once, however often it is
 * handed out.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  return freezeMembers(value);
}

/** Freezes what is in an object or array, and leaves itself as it is: for one that nobody but its receiver holds. */
export function freezeMembers<T extends object>(value: T): T {
  // `Object.values` would make an array for each object, and `for in` a text for each index of an array. Both are a good
  // part of what an event costs its observers.
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) if (typeof value[key] === "object") deepFreeze(value[key]);
  return value;
}
