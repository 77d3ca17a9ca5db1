/**
 * Checks the options of a server.
 */
import { PawlError } from "../index.js";

/** @throws PawlError `bad_configuration` */
export function checkOptionNames(what: string, options: object, known: ReadonlySet<string>): void {
  if (typeof options !== "object" || options === null)
    throw createConfigurationError(`The options of ${what} must be an object.`);
  for (const name of Object.keys(options))
    if (!known.has(name))
      throw createConfigurationError(
        `Unknown option ${JSON.stringify(name.slice(0, 100))} of ${what}. Known options: ${[...known].join(", ")}.`,
      );
}

export function createConfigurationError(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}
