/**
 * The text about the sandbox of `shell`: in its description for the model, and in the results of commands.
 */
import { delimiter, isAbsolute } from "node:path";
import { isWithin, resolveExistingPart } from "../files/root.js";
import { refusalReasons } from "../sandbox/contract.js";
import type { CommandReport, CommandSandbox } from "../sandbox/sandbox.js";
import type { ProcessResult } from "./run-process.js";

/** The additional permissions that a call of `shell` may request. */
export type ShellRequest = "hosts" | "outside";

/** Rarely changes, because tools come at the beginning of each request, which providers cache. */
export function describeSandbox({ kind, hosts }: CommandSandbox, requests: readonly ShellRequest[]): string {
  if (kind === "none") return "It is not sandboxed.";
  const further = [
    ...(requests.includes("hosts") ? ["To reach another host, set `hosts`."] : []),
    ...(requests.includes("outside") ? ["If a command cannot work in a sandbox, set `outside` and `why`."] : []),
    ...(requests.length === 0 ? [] : ["A person may be asked to approve this."]),
  ];
  const base = `It is sandboxed: commands can write to the root folder, /tmp and their own home, and cannot see the person's home. They can reach ${hosts.length === 0 ? "no hosts" : `${hosts.join(", ")} through a proxy`}.`;
  return [base, ...further].join(" ");
}

const maxHosts = 20;
const maxWhyCharacters = 500;

/** The input fields for the permissions that a call may request. */
export function createRequestFields(requests: readonly ShellRequest[]) {
  const hosts = {
    hosts: {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 300 },
      maxItems: maxHosts,
      description: "Additional hosts that this command may reach: api.example.org, *.example.org, db.example.org:5432.",
    },
  } as const;
  const outside = {
    outside: {
      type: "boolean",
      description: "Runs the command outside of the sandbox, for a command that cannot work inside.",
    },
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
    ...(lacksProxy ? ["the sandbox has no name server: only programs that use HTTPS_PROXY can reach hosts"] : []),
    ...notes,
  ];
}

/** PATH for a command outside of the sandbox, without folders whose programs may have been written by other commands. */
export function pickTrustedPath(path: string | undefined, root: string): string {
  const folders = (path ?? "/usr/bin:/bin").split(delimiter);
  return folders.filter((folder) => isAbsolute(folder) && !isWithin(root, resolveExistingPart(folder))).join(delimiter);
}
