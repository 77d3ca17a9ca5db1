/**
 * Ids of sessions and messages, limited to what every store can hold.
 */

export const maxId = 512;

const loneSurrogate = /\p{Surrogate}/u;

/**
 * Describes what is wrong with an id; null if it is valid. A valid id is a string of 1 to 512 characters without NUL and without lone
 * surrogates (a database would treat two such ids as equal).
 */
export function findIdProblem(id: unknown): string | null {
  if (typeof id !== "string") return "is not a string";
  if (id.length === 0) return "is empty";
  if (id.length > maxId) return `has ${id.length} characters`;
  if (id.includes("\0")) return "contains a NUL character";
  return loneSurrogate.test(id) ? "contains a lone surrogate" : null;
}

/** The error message for an invalid id. */
export function formatIdError(what: "session" | "message", id: unknown, problem: string): string {
  const isLong = typeof id === "string" && id.length > maxId;
  const shown =
    typeof id === "string" ? JSON.stringify(id.slice(0, 40)) : `of type ${id === null ? "null" : typeof id}`;
  const which = isLong ? `that starts with ${shown}` : shown;
  return `The ${what} id ${which} ${problem}. Use a string of 1 to ${maxId} characters.`;
}
