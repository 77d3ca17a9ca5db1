/**
 * Freezes plain data and everything in it, so that it can be handed out: others may read it but cannot change it.
 *
 * An object that is already frozen counts as deeply frozen. So data is frozen once, however often it is handed out.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  return freezeMembers(value);
}

/** Freezes the members of an object or array, but not the object itself: for an object that only its receiver holds. */
export function freezeMembers<T extends object>(value: T): T {
  // `Object.values` would create an array for each object, and `for in` a string for each index of an array. Both are a
  // good part of what an event costs its observers.
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) if (typeof value[key] === "object") deepFreeze(value[key]);
  return value;
}
