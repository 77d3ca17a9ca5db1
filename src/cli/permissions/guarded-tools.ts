/**
 * Restricts tools, while they run, to what was permitted.
 *
 * 1. A file tool writes only the file that the decision was about: if a link was put in its place meanwhile, the call fails. The
 *    path is resolved once, by the decision. If an earlier process made the decision, the call is decided again.
 * 2. The whole output of an earlier call can be read again only if the current rules do not deny that call.
 * 3. A redirect to another host is followed only if the rules allow that host.
 * 4. Plan mode also applies to calls that were allowed before it began: it is checked again when a call starts.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type AnyTool,
  type CanExecuteTool,
  createClient,
  type Json,
  type Permission,
  type PermissionContext,
  type PermissionRequest,
  type Store,
  type ToolContext,
} from "../../index.js";
import { createFetchTool, createFileTools } from "../../tools/index.js";
import type { RuleDecision } from "./decide.js";
import { formatCallName, type HookVerdicts } from "./hook-verdicts.js";
import { type AgentMode, withEditMode } from "./mode.js";
import type { Permissions } from "./permissions.js";
import { isPlanning } from "./plan-mode.js";
import { findReminderQuestion } from "./reminder-question.js";
import { pathOfCall, personTool, writesFiles } from "./rule.js";
import type { SessionRules } from "./session-rules.js";
import type { TopSessions } from "./top-sessions.js";

export type GuardedTools = {
  readonly tools: readonly AnyTool[];
  /** The permission check of an agent. It also records the file that a call is about. */
  readonly createPermissionCheck: (mode: AgentMode) => CanExecuteTool;
  /**
   * Whether the session is in plan mode when a call starts.
   * @throws Error if plan mode or a current rule denies the call
   */
  readonly checkPlanMode: PlanModeCheck;
};

type PlanModeCheck = (
  tool: string,
  input: unknown,
  context: Pick<ToolContext, "sessionId" | "data">,
) => Promise<boolean>;

/** The maximum number of calls whose files are remembered. A forgotten call is decided again. */
const maxPending = 1_000;

export type GuardedToolsOptions = {
  readonly permissions: Permissions;
  /** Files that no tool may write. */
  readonly protect: readonly string[];
  /** The sessions' store, to find the call of an earlier output. */
  readonly store: Store;
  /** Finds the session whose rules apply. */
  readonly topSessions: TopSessions;
  /** The verdicts of hooks on a call. Default: none. */
  readonly takeHookVerdict?: HookVerdicts["take"];
};

export function createGuardedTools({
  permissions,
  protect,
  store,
  topSessions,
  takeHookVerdict = () => undefined,
}: GuardedToolsOptions): GuardedTools {
  const { root, mayReach } = permissions;
  const decide = async (call: Parameters<Permissions["decide"]>[0], session: SessionRules) =>
    permissions.decide(call, await topSessions.find(session));
  /** Keyed by `formatCallName`: the file that was decided on, and its path in the call. */
  const decidedPaths = new Map<string, { readonly named: string; readonly path: string }>();
  const writablePath = new AsyncLocalStorage<string>();
  const files = createFileTools({
    root,
    protect,
    mayReach: (path, access) =>
      mayReach(path, access) && (access === "read" || (writablePath.getStore() ?? path) === path),
  });
  const checkPlanMode: PlanModeCheck = async (tool, input, { sessionId, data }) => {
    const session = await topSessions.find({ sessionId, data: data.all() });
    if (!isPlanning(session)) return false;
    const decided = await permissions.decide({ tool, readOnly: false, input: input as Json }, session);
    if (decided.verdict === "deny") throw new Error(formatLateDenial(decided));
    return true;
  };
  const resolvePath: ResolveCallPath = async (tool, input, context) => {
    await checkPlanMode(tool, input, context);
    const { sessionId, data } = context;
    const key = formatCallName(context);
    const decidedPath = decidedPaths.get(key);
    decidedPaths.delete(key);
    // A person may have changed the path in their answer.
    if (decidedPath?.named === pathOfCall(tool, input)) return decidedPath.path;
    const call = { tool, readOnly: false, input: input as Json };
    const decided = await decide(call, { sessionId, data: data.all() });
    if (decided.verdict === "deny" || decided.path === undefined) throw new Error(formatLateDenial(decided));
    return decided.path;
  };
  const web = createFetchTool({
    proxyEnv: process.env,
    async mayRedirect({ from, to }, { sessionId, data }) {
      const call = { tool: "fetch_url", readOnly: false, input: { url: to.href } };
      const { verdict } = await decide(call, { sessionId, data: data.all() });
      return verdict === "allow" || (verdict === "ask" && from.host === to.host && from.protocol === to.protocol);
    },
  });
  return {
    tools: [
      ...files.map((tool) => (writesFiles(tool.name) ? restrictToPath(tool, resolvePath, writablePath) : tool)),
      { ...web, needsApproval: false },
    ],
    checkPlanMode,
    createPermissionCheck: (mode) => async (call, context) => {
      const { sessionId, data } = context;
      const session = await topSessions.find({ sessionId, data });
      const { callKey } = call;
      const pathKey = formatCallName({ sessionId, callKey });
      const closedReason = await findClosedReason(call, context, session, store, permissions);
      if (closedReason !== null) return { verdict: "deny", reason: closedReason };
      const rules = mode === "edits" ? withEditMode(session) : session;
      const keepPath = ({ path }: RuleDecision) => {
        // If a call is decided again, for example after a person's answer, the file that was shown still applies.
        if (path === undefined || !writesFiles(call.tool.name) || decidedPaths.has(pathKey)) return;
        if (decidedPaths.size >= maxPending) decidedPaths.clear();
        decidedPaths.set(pathKey, { named: pathOfCall(call.tool.name, call.input), path });
      };
      const hook = takeHookVerdict({ sessionId, callKey }, call.input);
      const asks = await findReminderQuestion({ tool: call.tool.name, input: call.input }, context, store);
      const details = { onDecided: keepPath, hook, asks };
      const permission = await permissions.canExecuteTool(call, { ...context, ...rules }, details);
      if (mode !== "deny") return permission;
      return denyQuestion(call.tool.name === personTool ? "ask" : permission);
    },
  };
}

/** Why a call that was allowed must not start. */
function formatLateDenial({ rule, why }: RuleDecision): string {
  if (rule !== undefined) return `The rule ${rule.rule} now denies this.`;
  return why === undefined ? "The rules now deny this." : `Now denied: ${why.replace(/\.$/, "")}.`;
}

/** Wraps a tool so that its calls do not start in plan mode, even if they were allowed earlier. */
export function withPlanModeCheck(tool: AnyTool, check: PlanModeCheck): AnyTool {
  const { execute } = tool;
  if (execute === undefined || tool.readOnly === true) return tool;
  return {
    ...tool,
    async execute(input, context) {
      // A later attempt continues the first one, for example after a question from the server.
      if (context.attempt === 1) await check(tool.name, input, context);
      return (await execute(input, context)) as unknown;
    },
  };
}

/** Turns a question into a denial, for an agent that does not ask. */
function denyQuestion(permission: Permission): Permission {
  const { verdict, rule = undefined } = typeof permission === "string" ? { verdict: permission } : permission;
  if (verdict !== "ask") return permission;
  const why = rule === undefined ? "no rule allows this" : `the rule ${rule.pattern} asks about this`;
  return { verdict: "deny", reason: `This agent does not ask, and ${why}` };
}

/** Why an output must not be read again; null if it may be, or if the call does not read one. */
async function findClosedReason(
  { tool, input }: PermissionRequest,
  { sessionId }: Pick<PermissionContext, "sessionId">,
  session: SessionRules,
  store: Store,
  permissions: Permissions,
): Promise<string | null> {
  const output = outputTools.has(tool.name) ? (input as { readonly output?: Json } | null)?.output : undefined;
  if (typeof output !== "number" || !hasDenyingRule(permissions, session)) return null;
  const originalCall = await findCallOfOutput(store, sessionId, output);
  if (originalCall === null) return null;
  const { verdict, rule } = await permissions.decide({ ...originalCall, readOnly: true }, session);
  return verdict === "deny" && rule !== undefined
    ? `The rule ${rule.rule} denies the call that gave output ${output}`
    : null;
}

/** Whether any rule denies. Otherwise the log need not be searched for the earlier call. */
function hasDenyingRule({ rules }: Permissions, session: SessionRules): boolean {
  try {
    return rules(session).some(({ verdict }) => verdict === "deny");
  } catch {
    // The rules cannot be read. The decision itself handles that error.
    return true;
  }
}

const outputTools: ReadonlySet<string> = new Set(["read_output", "search_output"]);

/** The call that produced an output, with the input that it ran with. */
async function findCallOfOutput(
  store: Store,
  sessionId: string,
  output: number,
): Promise<{ readonly tool: string; readonly input: Json } | null> {
  const inputs = new Map<string, Json>();
  for await (const event of createClient({ store }).session(sessionId).events({ live: false, follow: false })) {
    if (!("seq" in event) || event.seq > output) return null;
    if (event.type === "tool_call") inputs.set(event.callKey, event.input);
    else if (event.type === "approval_answered" && event.input !== undefined) inputs.set(event.callKey, event.input);
    else if (event.type === "tool_result" && event.seq === output)
      return { tool: event.name, input: inputs.get(event.callKey) ?? null };
  }
  return null;
}

function restrictToPath(tool: AnyTool, resolvePath: ResolveCallPath, writablePath: AsyncLocalStorage<string>): AnyTool {
  const { execute } = tool;
  if (execute === undefined) return tool;
  return {
    ...tool,
    async execute(input, context) {
      const path = await resolvePath(tool.name, input, context);
      return await writablePath.run(path, () => execute(input, context) as unknown);
    },
  };
}

/** @throws Error if the decision is not known in this process, and a rule now denies the call */
type ResolveCallPath = (tool: string, input: unknown, context: ToolContext) => Promise<string>;
