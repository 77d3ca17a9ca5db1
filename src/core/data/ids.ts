/**
 * Ids of sessions and messages: what every store can keep.
 */

export const maxId = 512;

const loneSurrogate = /\p{Surrogate}/u;

/**
 * What is wrong with an id; null if nothing is. It is a text of 1 to 512 characters, with no NUL and no lone surrogate
 * (a database would take two such ids for one).
 */
export function findIdProblem(id: unknown): string | null {
  if (typeof id !== "string") return "is no text";
  if (id.length === 0) return "is empty";
  if (id.length > maxId) return `has ${id.length} characters`;
  if (id.includes("\0")) return "has a NUL";
  return loneSurrogate.test(id) ? "has half of a surrogate pair" : null;
}

/** The sentence about an id that cannot be used. */
export function formatIdError(what: "session" | "message", id: unknown, problem: string): string {
  const isLong = typeof id === "string" && id.length > maxId;
  const shown =
    typeof id === "string" ? JSON.stringify(id.slice(0, 40)) : `of type ${id === null ? "null" : typeof id}`;
  const which = isLong ? `that starts with ${shown}` : shown;
  return `The ${what} id ${which} ${problem}. Use a text of 1 to ${maxId} characters.`;
}
