/**
 * Parameters that a server wants repeated in HTTP headers (`x-mcp-header`, SEP-2243). A client must not use a tool whose marks
 * are invalid: otherwise the server could choose any text as the name of a header.
 */
import type { Json } from "../../core/data/message.js";

type Schema = { readonly [key: string]: Json };

/** A token of RFC 9110. */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
const types: readonly Json[] = ["string", "integer", "boolean"];

/** Returns why the marks of an input schema are invalid; null if they are valid, or if there are none. */
export function findHeaderProblem(schema: Schema): string | null {
  const names = new Set<string>();
  return visit(schema, false);

  /** @param isParameter whether only `properties` lead to this node; only such a node may have a mark */
  function visit(node: Json, isParameter: boolean): string | null {
    if (node === null || typeof node !== "object") return null;
    if (Array.isArray(node)) return firstProblem(node, (item) => visit(item, false));
    const { "x-mcp-header": mark, properties, ...rest } = node as Schema;
    const problem = mark === undefined ? null : findMarkProblem(mark, rest.type, isParameter);
    if (problem !== null) return problem;
    const leadsToParameters = isParameter || node === schema;
    const members = typeof properties === "object" && properties !== null ? Object.values(properties) : [];
    return (
      firstProblem(members, (item) => visit(item, leadsToParameters)) ??
      firstProblem(Object.values(rest), (item) => visit(item, false))
    );
  }

  function findMarkProblem(mark: Json, type: Json | undefined, isParameter: boolean): string | null {
    if (typeof mark !== "string" || !headerName.test(mark)) return "a parameter is marked with an invalid header name";
    if (!isParameter) return `the mark for the header ${mark} is not on a parameter`;
    if (type === undefined || !types.includes(type))
      return `the parameter for the header ${mark} is not a string, an integer or a boolean`;
    if (names.has(mark.toLowerCase())) return `two parameters are marked for the header ${mark}`;
    names.add(mark.toLowerCase());
    return null;
  }
}

function firstProblem(items: readonly Json[], find: (item: Json) => string | null): string | null {
  for (const item of items) {
    const problem = find(item);
    if (problem !== null) return problem;
  }
  return null;
}
