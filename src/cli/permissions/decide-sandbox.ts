/**
 * Decides about a command that asks for more than its sandbox gives: further hosts, or to run outside.
 *
 * 1. Only `reach(npm)` and `outside(npm publish)` allow this. Neither a rule for the command itself nor `--yes` does.
 * 2. The rules for the command still count: one that denies the command also denies it with hosts.
 */
import type { Json } from "../../index.js";
import { findPreset, type HostPattern, readHostPattern } from "../../tools/sandbox/hosts.js";
import type { Rule } from "./rule.js";
import type { CallToDecide, RuleTest } from "./rule-test.js";

/** The part of the input of `shell` that goes beyond the sandbox. */
export type SandboxRequest = {
  /** The hosts that are valid. */
  readonly hosts: readonly HostPattern[];
  /** What is wrong with the first invalid host; null if all are valid. */
  readonly problem: string | null;
  readonly isOutside: boolean;
  /** The model's reason; empty if it gives none. */
  readonly why: string;
  readonly line: string;
};

/** The title of the question about a command that leaves the sandbox. */
export const wantsOutside = "wants to run OUTSIDE of the sandbox";

/** Whether a call wants to leave the sandbox. */
export function isOutsideCall({ name, input }: { readonly name: string; readonly input: Json }): boolean {
  return name === "shell" && readSandboxRequest(input).isOutside;
}

/** Reads the fields of the input, which may not have been checked yet: a decision comes before the tool runs. */
export function readSandboxRequest(input: Json): SandboxRequest {
  const { command, hosts, outside, why } = (typeof input === "object" && input !== null ? input : {}) as {
    readonly [field: string]: Json | undefined;
  };
  const given = Array.isArray(hosts) ? hosts.filter((host) => typeof host === "string") : [];
  const read = given.map((host) => [host, readHostPattern(host)] as const);
  const wrong = read.find(([, pattern]) => typeof pattern === "string");
  return {
    hosts: read.flatMap(([, pattern]) => (typeof pattern === "string" ? [] : [pattern])),
    problem: wrong === undefined ? null : `the host ${JSON.stringify(wrong[0])} is invalid: ${wrong[1] as string}`,
    isOutside: outside === true,
    why: typeof why === "string" ? why.trim() : "",
    line: typeof command === "string" ? command.trim() : "",
  };
}

/**
 * Extends the test of a command line to the hosts that it asks for, and to running outside.
 * @param reachable the hosts that every command may reach
 */
export function addSandboxRequests(
  { input }: CallToDecide,
  test: RuleTest,
  reachable: readonly HostPattern[],
  all: readonly Rule[],
): RuleTest {
  const request = readSandboxRequest(input);
  const { hosts, isOutside } = request;
  const findUnreachable = (rules: readonly Rule[]) =>
    hosts.filter((host) => ![...reachable, ...listReachable(rules)].some((one) => one.covers(host)));
  return {
    ...test,
    isBeyondSandbox: isOutside || request.problem !== null || findUnreachable(all).length > 0,
    catches(rule) {
      if (rule.about.kind === "reach") {
        const denied = rule.about.hosts;
        return !isOutside && hosts.some((host) => denied.deniesPartOf(host));
      }
      if (rule.about.kind === "outside") return isOutside && rule.about.line === request.line;
      if (rule.tool === "outside") return isOutside;
      return test.catches(rule);
    },
    async allowedBy(rules) {
      if (isOutside) return decideOutside(request, rules);
      const asked = findUnreachable(rules);
      if (asked.length === 0 && request.problem === null) return await test.allowedBy(rules);
      const question = request.problem ?? `It may reach ${asked.map(describeHost).join(", ")} while it runs.`;
      return {
        why: `No rule lets commands reach ${asked.map(({ text }) => text).join(", ")}.`,
        question,
        isBeyondSandbox: true,
      };
    },
  };
}

function listReachable(rules: readonly Rule[]): readonly HostPattern[] {
  return rules.flatMap(({ verdict, about }) => (verdict === "allow" && about.kind === "reach" ? [about.hosts] : []));
}

function decideOutside(
  { line, why }: SandboxRequest,
  rules: readonly Rule[],
): Awaited<ReturnType<RuleTest["allowedBy"]>> {
  const rule = rules.find(({ about }) => about.kind === "outside" && about.line === line);
  if (rule !== undefined) return { rule };
  // The call is shown whole, with its reason.
  const missing = why === "" ? " It does not say why." : "";
  const question = `Outside, it can read and write your files, and use the network.${missing}`;
  return { why: "No rule lets this command run outside of the sandbox.", question, isBeyondSandbox: true };
}

/** `registry.npmjs.org (npm)` */
export function describeHost(host: HostPattern): string {
  const preset = findPreset(host);
  return preset === null ? host.text : `${host.text} (${preset})`;
}
