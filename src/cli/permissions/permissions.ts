/**
 * Which calls run without a question (SEC-5): calls of read-only tools, and calls that a rule of the person allows.
 *
 * 1. The rules are read for each call, so a removed rule stops applying at once, whichever process removed it.
 * 2. If rules cannot be read, every call asks, because one of the rules may deny it. With `--yes`, every call is denied.
 */
import { join } from "node:path";
import { type CanExecuteTool, type Json, PawlError } from "../../index.js";
import type { CommandSandbox, HostTarget } from "../../tools/index.js";
import { type HostPattern, readHostPattern } from "../../tools/sandbox/hosts.js";
import { resolveRules } from "../configuration/resolve-configuration.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/store-location.js";
import { quotePath } from "../terminal/text.js";
import { findClosedFiles } from "./closed-files.js";
import { closesPath, decideByRules, namesPath, type RuleDecision } from "./decide.js";
import { createReadingAccess } from "./decide-shell.js";
import { applyHookVerdict, type HookVerdict, isHookQuestion } from "./hook-verdicts.js";
import { readingNames } from "./known-commands.js";
import { listModeRules } from "./mode.js";
import { userHome } from "./path-pattern.js";
import { findPlanVerdict, isPlanning, planReason } from "./plan-mode.js";
import { resolveProjectFolder } from "./project-folder.js";
import { onlyReads, readsInputsBelow } from "./reading-commands.js";
import {
  createRuleError,
  formatRuleSource,
  parseRule,
  personTool,
  type Rule,
  reminderQuestion,
  toPermissionRule,
  writesFiles,
} from "./rule.js";
import { openRuleFile, type RuleFile } from "./rule-file.js";
import { createOffers, type RuleOffers } from "./rule-offers.js";
import type { CallToDecide } from "./rule-test.js";
import {
  type CreateRuleError,
  type RuleLists,
  type RuleScope,
  type StoredRule,
  type Verdict,
  verdicts,
} from "./rule-types.js";
import { readSessionRules, type SessionRules } from "./session-rules.js";
import type { FindVersion } from "./tool-version.js";

/** Details of the check of a call. */
export type CheckDetails = Pick<CallToDecide, "asks"> & {
  /** Called with the decision and its path, before the permission is returned. */
  readonly onDecided?: (decided: RuleDecision) => void;
  /** The verdicts of hooks on the call. */
  readonly hook?: HookVerdict | undefined;
};

export type Permissions = {
  readonly canExecuteTool: (...args: [...Parameters<CanExecuteTool>, CheckDetails?]) => ReturnType<CanExecuteTool>;
  /** Decides about a call by the rules and `--yes`. */
  readonly decide: (call: CallToDecide, session?: SessionRules) => Promise<RuleDecision>;
  /** Whether the current rules allow a call that waits for a person's answer. */
  readonly isAllowed: (
    call: { readonly name: string; readonly input: Json; readonly question?: string | undefined },
    session?: SessionRules,
  ) => Promise<boolean>;
  /** Whether the file tools may reach a file or folder, by its absolute path. */
  readonly mayReach: (path: string, access: "read" | "write") => boolean;
  /** Sets how the versions of MCP tools are found: rules for these tools are about versions. */
  readonly useVersions: (find: FindVersion) => void;
  /** All rules in force. @throws PawlError `bad_configuration` if some cannot be read */
  readonly rules: (session?: SessionRules) => readonly Rule[];
  readonly files: { readonly project: RuleFile; readonly user: RuleFile };
  readonly root: string;
  readonly isSandboxed: () => boolean;
  /** Sets the sandbox of the commands, which decides when a command needs a rule of `reach` or `outside`. */
  readonly useSandbox: (sandbox: Pick<CommandSandbox, "kind" | "hosts">) => void;
  /** Decides by the rules about a host that a command connects to; undefined if no rule is about it. */
  readonly decideHost: (target: HostTarget, session: SessionRules) => "allow" | "deny" | undefined;
  /** Absolute paths of existing files that rules deny to every tool that reads. */
  readonly closedFiles: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** The rules that a person is offered for a call that asks. */
  readonly offersFor: (
    call: { readonly name: string; readonly input: Json },
    session?: SessionRules,
  ) => Promise<RuleOffers>;
};

export type PermissionOptions = {
  readonly allowAll: boolean;
  /** `outside`: a command in the sandbox asks only if it needs more than the sandbox gives. Default: `always`. */
  readonly ask?: "always" | "outside";
  /** A call that is not answered within this time counts as denied; milliseconds. Default: it waits forever. */
  readonly expiresInMs?: number | undefined;
  /** The commands that run unasked because they only read. Default: all that are known. */
  readonly reading?: readonly string[] | undefined;
  /** Rules of the command line. */
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  /** The real path of the folder of the sessions. */
  readonly root: string;
  readonly home: string;
  readonly environment?: Environment;
};

const cacheMs = 50;

/** The files with the rules that the person has stored, for the folder and everywhere. */
export function openRuleFiles({
  root,
  home,
  environment = process.env,
}: Pick<PermissionOptions, "root" | "home" | "environment">): Permissions["files"] {
  return {
    project: openRuleFile(join(resolveProjectFolder(home, root), "permissions.json"), { folder: root }),
    user: openRuleFile(join(resolveUserConfigurationFolder(environment), "permissions.json")),
  };
}

/** @throws PawlError `bad_configuration` if rules cannot be read */
export function createPermissions(options: PermissionOptions): Permissions {
  const { allowAll, expiresInMs, root, home, environment = process.env } = options;
  const files = openRuleFiles({ root, home, environment });
  const reading: ReadonlySet<string> = new Set(options.reading ?? readingNames);
  const optionRules = new Map<string, Rule>();
  for (const verdict of ["allow", "deny"] as const)
    for (const rule of options[verdict] ?? [])
      optionRules.set(`${verdict} ${rule}`, compileRule(verdict, { rule }, "option"));
  const compileLists = createCompiler();
  const readConfiguredRules = (): readonly Rule[] => {
    const lists = resolveRules({ root, home, environment });
    return [
      ...compileLists(lists.user, "user"),
      ...compileLists(lists.folder, "folder"),
      ...compileLists(lists.project, "project"),
    ];
  };
  const rules = (session?: SessionRules) => [
    ...optionRules.values(),
    ...(session === undefined ? [] : compileLists(readSessionRules(session), "session")),
    ...compileLists(files.project.read(), "project", createKeptRuleError("project")),
    ...compileLists(files.user.read(), "user", createKeptRuleError("user")),
    ...readConfiguredRules(),
  ];
  let versionOf: FindVersion = () => undefined;
  let sandbox: Pick<CommandSandbox, "kind"> = { kind: "none" };
  let reachable: readonly HostPattern[] = [];
  const isSandboxed = () => sandbox.kind === "bubblewrap";
  const decide = async (asked: CallToDecide, session?: SessionRules): Promise<RuleDecision> => {
    const call = { ...asked, version: versionOf(asked.tool) };
    const planVerdict = isPlanning(session) ? findPlanVerdict(call, isSandboxed()) : "allow";
    const denied = { verdict: "deny", why: planReason } as const;
    let effectiveRules: readonly Rule[];
    try {
      effectiveRules = [...rules(session), ...listModeRules(session)];
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      if (planVerdict !== "allow") return denied;
      return { verdict: allowAll ? "deny" : "ask", why: error.message, mayBeDenied: true };
    }
    const decided = await decideByRules(call, effectiveRules, root, reading, reachable);
    if (
      decided.verdict !== "deny" &&
      (planVerdict === "deny" || (planVerdict !== "allow" && !onlyReadsByItself(decided)))
    )
      return denied;
    if (allowAll && call.tool === personTool && decided.rule === undefined)
      return { verdict: "deny", why: "Nobody is asked with --yes: decide yourself, and say what you assumed." };
    if (decided.verdict !== "ask" || decided.isBeyondSandbox === true) return decided;
    const isContained =
      call.tool === "shell" && options.ask === "outside" && isSandboxed() && decided.rule === undefined;
    if (isContained && decided.mayBeDenied !== true) return { verdict: "allow" };
    if (!allowAll) return decided;
    const path = decided.path === undefined ? {} : { path: decided.path };
    if (decided.mayBeDenied === true)
      return {
        verdict: "deny",
        why: "The line cannot be read, and a rule denies some commands or closes a path, so it does not run unasked.",
      };
    return { verdict: "allow", ...path };
  };
  /** A search checks thousands of files, so the rules are cached for a moment. */
  let closedRulesCache: { readonly at: number; readonly rules: readonly Rule[] } | null = null;
  const readClosedPathRules = (): readonly Rule[] => {
    const now = performance.now();
    if (closedRulesCache === null || now - closedRulesCache.at > cacheMs)
      closedRulesCache = {
        at: now,
        rules: rules().filter(({ verdict, about }) => verdict === "deny" && about.kind === "path"),
      };
    return closedRulesCache.rules;
  };
  // Unreadable rules are reported before anything runs.
  rules();
  return {
    root,
    isSandboxed,
    async offersFor(call, session) {
      const readingAccess = createReadingAccess(rules(session), { root, names: reading, closesPath });
      return await createOffers(call, {
        root,
        reachable,
        // Without a sandbox, rules for what the folder defines are kept for the session only.
        isSandboxed: call.name === "shell" && isSandboxed(),
        onlyReads: (command) => onlyReads(command, readingAccess),
        readsInputsBelow: (command) => readsInputsBelow(command, readingAccess),
        version: versionOf(call.name),
      });
    },
    files,
    rules,
    decide,
    canExecuteTool: async ({ tool, input }, { sessionId, data }, { onDecided, hook, asks } = {}) => {
      const call = { tool: tool.name, readOnly: tool.readOnly, input, asks };
      const decided = applyHookVerdict(await decide(call, { sessionId, data }), hook);
      onDecided?.(decided);
      const { verdict, rule, why, question: callQuestion } = decided;
      const byRule = rule === undefined ? {} : { rule: toPermissionRule(rule) };
      if (verdict === "allow") return { verdict, ...byRule };
      if (verdict === "ask") {
        const question =
          rule === undefined ? callQuestion : `The rule ${rule.rule} (${formatRuleSource(rule)}) asks about this.`;
        const asked = question === undefined ? {} : { question };
        return { verdict, ...asked, ...(expiresInMs === undefined ? {} : { expiresInMs }), ...byRule };
      }
      // The reason becomes a part of a sentence.
      const reason =
        rule === undefined
          ? (why ?? "").replace(/\.$/, "")
          : `The rule ${rule.rule} (${formatRuleSource(rule)}) denies this`;
      return { verdict, reason, ...byRule };
    },
    async isAllowed({ name, input, question }, session) {
      if (isHookQuestion(question)) return false;
      const asks = question === reminderQuestion ? question : undefined;
      return (await decide({ tool: name, readOnly: false, input, asks }, session)).verdict === "allow";
    },
    mayReach(path, access) {
      const denyingRules = readClosedPathRules();
      return !denyingRules.some(
        ({ tool, about }) =>
          about.kind === "path" && (access === "write" || !writesFiles(tool)) && namesPath(about.pattern, path, root),
      );
    },
    useVersions(find) {
      versionOf = find;
    },
    useSandbox(given) {
      sandbox = given;
      reachable = given.hosts.map(readHostPattern).filter((pattern) => typeof pattern !== "string");
    },
    decideHost(target, session) {
      const about = rules(session).flatMap(({ verdict, about }) =>
        about.kind === "reach" ? [{ verdict, ...about }] : [],
      );
      if (about.some(({ verdict, hosts }) => verdict === "deny" && hosts.denies(target))) return "deny";
      // The question was asked before the command started, if the command named this host.
      if (about.some(({ verdict, hosts }) => verdict === "ask" && hosts.denies(target))) return undefined;
      return about.some(({ verdict, hosts }) => verdict === "allow" && hosts.allows(target)) ? "allow" : undefined;
    },
    closedFiles: (signal) => findClosedFiles(root, readClosedPathRules(), signal),
  };
}

/** Whether a command runs because it only reads, and not because a rule allows it. */
function onlyReadsByItself({ verdict, rule }: RuleDecision): boolean {
  return verdict === "allow" && rule === undefined;
}

function compileRule(verdict: Verdict, kept: StoredRule, scope: RuleScope, create?: CreateKeptRuleError): Rule {
  return parseRule(verdict, kept, scope, userHome, create?.(kept.rule));
}

type CreateKeptRuleError = (rule: string) => CreateRuleError;

/** The error for a rule that the person has stored, perhaps with an earlier version: it also says how to remove the rule. */
function createKeptRuleError(scope: RuleScope): CreateKeptRuleError {
  return (rule) => (why) => {
    const { code, message } = createRuleError(rule.trim(), scope, why);
    return new PawlError(code, `${message} To remove it: pawl permissions remove ${quotePath(rule)}`);
  };
}

/** Compiles lists once, as long as they are the same. */
function createCompiler() {
  const compiledLists = new WeakMap<object, readonly Rule[]>();
  return (lists: RuleLists, scope: RuleScope, create?: CreateKeptRuleError): readonly Rule[] => {
    const cached = compiledLists.get(lists);
    if (cached !== undefined) return cached;
    const all = verdicts.flatMap((verdict) =>
      (lists[verdict] ?? []).map((kept) => compileRule(verdict, kept, scope, create)),
    );
    compiledLists.set(lists, all);
    return all;
  };
}
