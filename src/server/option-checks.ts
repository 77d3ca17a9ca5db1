/**
 * What is wrong with the options of a server.
 */
import { PawlError } from "../index.js";

/** @throws PawlError `bad_configuration` */
export function checkNames(what: string, given: object, known: ReadonlySet<string>): void {
  if (typeof given !== "object" || given === null) throw misconfigured(`The options of ${what} must be an object.`);
  for (const name of Object.keys(given))
    if (!known.has(name))
      throw misconfigured(
        `${what} has no option ${JSON.stringify(name.slice(0, 100))}. It has ${[...known].join(", ")}.`,
      );
}

export function misconfigured(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}
