/**
 * The options of the folder's agent, from the options of a command and what is configured in the folder.
 */
import { toAgentSettings } from "../configuration/agent-settings.js";
import { type ResolvedConfiguration, resolveConfiguration } from "../configuration/resolve-configuration.js";
import { type ResolvedHook, resolveHooks } from "../hooks/resolve-hooks.js";
import { createPermissions } from "../permissions/permissions.js";

/** What a person says of the agent on the command line. */
export type FolderAgentFlags = {
  /** Tokens. */
  readonly contextWindow?: number;
  readonly yes?: true;
  /** Permission rules for this process. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly allowShell?: true;
  readonly contextFiles?: boolean;
  readonly hooks?: boolean;
  /** A call that nobody answers within this time counts as denied; milliseconds. */
  readonly expireAfter?: number;
};

/** The hooks in files that a command calls. @throws PawlError `bad_configuration` if the person's file cannot be used */
export function chooseHooks(
  { hooks }: Pick<FolderAgentFlags, "hooks">,
  { trust }: Pick<ResolvedConfiguration, "trust">,
): readonly ResolvedHook[] {
  return hooks === false ? [] : resolveHooks(trust);
}

/**
 * The same as the agent takes it.
 * @param folders the real path of the folder, and where sessions are kept
 * @param configured what is in force in the folder, if the caller knows
 * @throws PawlError `bad_configuration` if permission rules cannot be read
 */
export function toAgentChoices(
  options: FolderAgentFlags,
  folders: { readonly root: string; readonly home: string },
  configured: Pick<ResolvedConfiguration, "limits" | "settings" | "trust"> = resolveConfiguration(folders),
) {
  const { limits } = configured;
  const settings = toAgentSettings(configured);
  const { contextWindow, yes, allow, deny, allowShell, contextFiles, expireAfter } = options;
  return {
    permissions: createPermissions({
      ...folders,
      allowAll: yes === true,
      ask: settings.sandbox.ask,
      reading: settings.unasked,
      allow,
      deny,
      expiresInMs: expireAfter,
    }),
    allowShell: allowShell ?? settings.shellIsOn ?? false,
    contextWindow,
    contextFiles: contextFiles !== false,
    limits,
    settings,
    hooks: chooseHooks(options, configured),
  };
}
