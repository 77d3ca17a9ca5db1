/**
 * Holds tools to what was permitted, while they work.
 *
 * 1. A file tool writes the file that the decision was about: if a link was put in its place meanwhile, the call fails.
 * 2. A redirect to another host is followed only if the rules allow that host.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { resolve } from "node:path";
import type { AnyTool, CanExecuteTool } from "../../index.js";
import { createFetchTool, createFileTools } from "../../tools/index.js";
import { realAsFarAsItExists } from "./decide.js";
import type { Permissions } from "./permissions.js";
import { pathOfCall, writesFiles } from "./rule.js";

export type GuardedTools = {
  readonly tools: readonly AnyTool[];
  /** The permission check of the agent: it notes which file a call is about. */
  readonly canExecuteTool: CanExecuteTool;
};

/** Calls whose files are remembered. A call that was forgotten is held to the rules only. */
const mostPending = 1_000;

export function guardedTools(permissions: Permissions, protect: readonly string[]): GuardedTools {
  const { root, mayReach, decide } = permissions;
  const pinned = new Map<string, string>();
  const writing = new AsyncLocalStorage<string>();
  const files = createFileTools({
    root,
    protect,
    mayReach: (path, access) => mayReach(path, access) && (access === "read" || (writing.getStore() ?? path) === path),
  });
  const web = createFetchTool({
    async mayRedirect({ from, to }, { sessionId, data }) {
      const call = { tool: "fetch_url", readOnly: false, input: { url: to.href } };
      const { verdict } = await decide(call, { sessionId, data: data.all() });
      return verdict === "allow" || (verdict === "ask" && from.host === to.host && from.protocol === to.protocol);
    },
  });
  return {
    tools: [
      ...files.map((tool) => (writesFiles(tool.name) ? held(tool, pinned, writing) : tool)),
      { ...web, needsApproval: false },
    ],
    canExecuteTool: (call, context) => {
      if (writesFiles(call.tool.name)) {
        if (pinned.size >= mostPending) pinned.clear();
        pinned.set(call.callKey, realAsFarAsItExists(resolve(root, pathOfCall(call.tool.name, call.input))));
      }
      return permissions.canExecuteTool(call, context);
    },
  };
}

function held(tool: AnyTool, pinned: Map<string, string>, writing: AsyncLocalStorage<string>): AnyTool {
  const { execute } = tool;
  if (execute === undefined) return tool;
  return {
    ...tool,
    execute(input, context) {
      const path = pinned.get(context.idempotencyKey);
      pinned.delete(context.idempotencyKey);
      return path === undefined ? execute(input, context) : writing.run(path, () => execute(input, context));
    },
  };
}
