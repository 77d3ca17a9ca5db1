/**
 * The option `uiTools`: the tools that chat pages know by type.
 */
import { createConfigurationError } from "./option-checks.js";

/** @throws PawlError `bad_configuration` */
export function collectToolNames(
  tools: readonly { readonly name: string }[] | { readonly [name: string]: object },
): ReadonlySet<string> {
  if (typeof tools !== "object" || tools === null) throw createUiToolsError();
  if (!Array.isArray(tools)) return new Set(Object.keys(tools));
  return new Set(
    tools.map((tool: unknown) => {
      const { name } = Object(tool) as { readonly name?: unknown };
      if (typeof name !== "string") throw createUiToolsError();
      return name;
    }),
  );
}

function createUiToolsError(): Error {
  return createConfigurationError("uiTools must be an array of tools, each with a name, or a record of tools by name.");
}
