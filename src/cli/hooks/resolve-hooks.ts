/**
 * The hooks that apply in a folder: the person's own, then those of the folder if its file is trusted.
 */
import { createHash } from "node:crypto";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/store-location.js";
import { toOneLine, truncate } from "../terminal/text.js";
import type { FolderTrust } from "../trust/trust.js";
import { type ConfiguredHook, folderHooksName, type HooksFile, readUserHooks } from "./hooks-file.js";

export type ResolvedHook = ConfiguredHook & {
  readonly scope: "user" | "folder";
  readonly path: string;
  /** The trusted hash of the file and of the files that it may run. Null for the person's own hooks. */
  readonly trustedHash: string | null;
  /** Why the hook is off; null if it is on. */
  readonly off: string | null;
};

/** @throws PawlError `bad_configuration` if the person's file cannot be used */
export function listHooks(
  { files, hooks }: Pick<FolderTrust, "files" | "hooks">,
  environment: Environment = process.env,
): readonly ResolvedHook[] {
  const supplied = files.find(({ name }) => name === folderHooksName);
  const isTrusted = supplied?.isTrusted === true;
  const why = supplied?.before === null ? "its file is not trusted" : "its file, or one that it runs, has changed";
  return [
    ...resolveFile(readUserHooks(resolveUserConfigurationFolder(environment)), "user", null, null),
    ...resolveFile(hooks, "folder", supplied?.hash ?? null, isTrusted ? null : `${why}: pawl trust`),
  ];
}

function resolveFile(
  file: HooksFile | null,
  scope: ResolvedHook["scope"],
  trustedHash: string | null,
  off: string | null,
): readonly ResolvedHook[] {
  const { path = "", hooks = [] } = file ?? {};
  return hooks.map((hook) => ({ ...hook, scope, path, trustedHash, off }));
}

/** The hooks that are on. @throws PawlError `bad_configuration` if the person's file cannot be used */
export function resolveHooks(
  trust: Pick<FolderTrust, "files" | "hooks">,
  environment: Environment = process.env,
): readonly ResolvedHook[] {
  return listHooks(trust, environment).filter(({ off }) => off === null);
}

/** Identifies what the hooks do, for processes that keep an agent as long as its files are the same. */
export function hashHooks(hooks: readonly ResolvedHook[]): string {
  const contents = hooks.map(({ matches: _, condition, ...hook }) => [hook, condition?.rule]);
  return createHash("sha256").update(JSON.stringify(contents)).digest("hex");
}

/** Names a hook in the log and in messages. */
export function formatHookName({ event, command }: ConfiguredHook): string {
  return truncate(toOneLine(`${event}: ${command}`), maxNameCharacters);
}

const maxNameCharacters = 100;

/** Formats a hook for `pawl config`. The result may have control characters. */
export function formatHook({ event, matcher, command, path, off }: ResolvedHook): string {
  const about = matcher === "" ? "" : ` ${matcher}`;
  return `hook  ${event}${about}  ${command}  (${path})${off === null ? "" : `  off: ${off}`}`;
}

/** The hook as JSON, for programs. */
export function toHookRecord({
  event,
  matcher,
  condition,
  command,
  timeoutMs,
  onFailure,
  scope,
  path,
  off,
}: ResolvedHook) {
  return {
    event,
    ...(matcher === "" ? {} : { matcher }),
    ...(condition === null ? {} : { if: condition.rule }),
    command,
    timeout: timeoutMs / 1_000,
    onFailure,
    scope,
    path,
    ...(off === null ? { on: true } : { on: false, why: off }),
  };
}
