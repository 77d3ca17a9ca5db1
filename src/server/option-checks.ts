/**
 * Checks the options of a server.
 */
import { nearestName } from "../core/index.js";
import { PawlError } from "../index.js";

/**
 * @param otherNames names that users of other libraries may try, and the option that is meant
 * @throws PawlError `bad_configuration`
 */
export function checkOptionNames(
  what: string,
  options: object,
  known: ReadonlySet<string>,
  otherNames: { readonly [name: string]: string } = {},
): void {
  if (typeof options !== "object" || options === null)
    throw createConfigurationError(`The options of ${what} must be an object.`);
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue;
    const suggestion = Object.hasOwn(otherNames, name) ? otherNames[name] : nearestName(name, [...known]);
    const hint = suggestion === undefined ? "" : ` Do you mean ${suggestion}?`;
    throw createConfigurationError(
      `${what} has no option ${JSON.stringify(name.slice(0, 100))}.${hint} It has ${[...known].join(", ")}.`,
    );
  }
}

export function createConfigurationError(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}
