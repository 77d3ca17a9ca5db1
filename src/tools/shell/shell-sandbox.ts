/**
 * The texts of `shell` about its sandbox: in its description for the model, and in the results of commands.
 */
import { delimiter, isAbsolute } from "node:path";
import { isWithin, resolveExistingPart } from "../files/root.js";
import { refusalReasons } from "../sandbox/contract.js";
import type { CommandReport, CommandSandbox } from "../sandbox/sandbox.js";
import type { ProcessResult } from "./run-process.js";

/** What a call of `shell` may ask for beyond the sandbox. */
export type ShellRequest = "hosts" | "outside";

/** Changes rarely, because tools come at the beginning of each request, which providers cache. */
export function describeSandbox({ kind, hosts }: CommandSandbox, requests: readonly ShellRequest[]): string {
  if (kind === "none") return "It is not sandboxed.";
  const further = [
    ...(requests.includes("hosts") ? ["For another host, give `hosts`."] : []),
    ...(requests.includes("outside") ? ["If a command cannot work in a sandbox, give `outside` and `why`."] : []),
    ...(requests.length === 0 ? [] : ["A person may be asked about that."]),
  ];
  const base = `It is sandboxed: commands can write in the root folder, /tmp and a home of their own, and cannot see the person's home. They reach ${hosts.length === 0 ? "no hosts" : `${hosts.join(", ")} through a proxy`}.`;
  return [base, ...further].join(" ");
}

const maxHosts = 20;
const maxWhyCharacters = 500;

/** The input fields for what a call may ask for. */
export function createRequestFields(requests: readonly ShellRequest[]) {
  const hosts = {
    hosts: {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 300 },
      maxItems: maxHosts,
      description: "Further hosts that this command may reach: api.example.org, *.example.org, db.example.org:5432.",
    },
  } as const;
  const outside = {
    outside: { type: "boolean", description: "Runs the command outside of the sandbox, if it cannot work inside." },
    why: {
      type: "string",
      maxLength: maxWhyCharacters,
      description: "Why the command must run outside, for the person who is asked.",
    },
  } as const;
  return {
    ...(requests.includes("hosts") ? hosts : {}),
    ...(requests.includes("outside") ? outside : {}),
  };
}

/** Messages of programs that cannot resolve a name. */
const failedLookup =
  /\b(EAI_AGAIN|Could not resolve host|Temporary failure in name resolution|Name or service not known|dial tcp: lookup)\b/;

/** Formats the report on a command, each note as part of a sentence. */
export function formatReport(
  { refusals, notes }: CommandReport,
  ended?: { readonly result: ProcessResult; readonly text: string },
): readonly string[] {
  const unlisted = refusals.filter(({ why }) => why === "unlisted").map(({ host }) => host);
  const others = refusals.filter(({ why }) => why !== "unlisted");
  const hasFailed = ended !== undefined && !(ended.result.ended.how === "exited" && ended.result.ended.code === 0);
  const lacksProxy = hasFailed && refusals.length === 0 && failedLookup.test(ended.text);
  return [
    ...(unlisted.length === 0 ? [] : [`the sandbox refused ${unlisted.join(", ")}`]),
    ...others.map(({ host, why }) => `the sandbox refused ${host}: ${refusalReasons[why]}`),
    ...(lacksProxy ? ["the sandbox has no name server: only programs that use HTTPS_PROXY reach hosts"] : []),
    ...notes,
  ];
}

/** PATH for a command outside of the sandbox, without folders whose programs other commands may have written. */
export function pickTrustedPath(path: string | undefined, root: string): string {
  const folders = (path ?? "/usr/bin:/bin").split(delimiter);
  return folders.filter((folder) => isAbsolute(folder) && !isWithin(root, resolveExistingPart(folder))).join(delimiter);
}
