/**
 * The options of the folder's agent, from a command's options and the folder's configuration.
 */
import { toAgentSettings } from "../configuration/agent-settings.js";
import { type ResolvedConfiguration, resolveConfiguration } from "../configuration/resolve-configuration.js";
import { type ResolvedHook, resolveHooks } from "../hooks/resolve-hooks.js";
import { createPermissions } from "../permissions/permissions.js";

/** The command line's options for the agent. */
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
  /** A call that is not answered within this time is denied; milliseconds. */
  readonly expireAfter?: number;
};

/** The hooks in files that a command runs. @throws PawlError `bad_configuration` if the person's file cannot be used */
export function chooseHooks(
  { hooks }: Pick<FolderAgentFlags, "hooks">,
  { trust }: Pick<ResolvedConfiguration, "trust">,
): readonly ResolvedHook[] {
  return hooks === false ? [] : resolveHooks(trust);
}

/**
 * Converts the command line's options to the agent's.
 * @param folders the real path of the folder, and the folder of settings and sessions
 * @param configured the folder's configuration, if the caller has already read it
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
