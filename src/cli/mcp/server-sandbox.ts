/**
 * The sandbox of an MCP server, which a servers file requests with `"sandbox": { "hosts": ["api.example.org"] }`. The server then
 * sees and reaches what commands do, with its own hosts and its own home: commands must not change what runs with its secrets.
 */

import { isJsonObject } from "../../core/data/is-object.js";
import type { Json } from "../../core/index.js";
import { readHostPattern } from "../../tools/sandbox/hosts.js";

/** What a server sees and reaches beyond the folder, as in the settings `shell`. */
export type ServerSandbox = { readonly [Key in (typeof keys)[number]]?: readonly string[] };

const keys = ["hosts", "addresses", "show", "write"] as const;

const isKey = (name: string): name is (typeof keys)[number] => keys.some((key) => key === name);

/** Returns a string that describes the problem if the value is invalid. */
export function parseServerSandbox(value: Json): ServerSandbox | string {
  if (!isJsonObject(value)) return 'sandbox must be an object, as in "sandbox": { "hosts": ["api.example.org"] }';
  for (const [key, list] of Object.entries(value)) {
    if (!isKey(key)) return `sandbox has the unknown key ${JSON.stringify(key)}; it can have ${keys.join(", ")}`;
    if (!Array.isArray(list) || !list.every((one) => typeof one === "string" && one !== ""))
      return `sandbox.${key} must be a list of strings`;
    const problem = key === "hosts" ? list.map((host) => describeHostProblem(String(host))).find(Boolean) : undefined;
    if (problem !== undefined) return `sandbox.hosts has ${problem}`;
  }
  return value as ServerSandbox;
}

function describeHostProblem(host: string): string | undefined {
  const pattern = readHostPattern(host);
  return typeof pattern === "string" ? `${JSON.stringify(host)}: ${pattern}` : undefined;
}

/** Part of a sentence. The result may contain control characters. */
export function formatServerSandbox({ hosts = [], addresses = [], show = [], write = [] }: ServerSandbox): string {
  const facts = [
    `reaches ${hosts.length === 0 ? "no hosts" : [...hosts, ...addresses].join(", ")}`,
    ...(show.length === 0 ? [] : [`reads ${show.join(", ")}`]),
    ...(write.length === 0 ? [] : [`writes ${write.join(", ")}`]),
  ];
  return `in the sandbox (${facts.join("; ")})`;
}
