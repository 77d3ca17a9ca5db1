/**
 * What is in force in a folder: the person's configuration, and above it the folder's, as far as it is trusted.
 */
import { configurationOf, type Environment } from "../home.js";
import type { RuleLists } from "../permissions/rule-text.js";
import { type FolderTrust, folderTrust, isTrusted, untrustedFiles } from "../trust/trust.js";
import { type Configuration, type ConfigurationFile, configurationName, readConfiguration } from "./configuration.js";

export type InForce = {
  readonly user: ConfigurationFile | null;
  /** The folder's, if it is trusted. */
  readonly folder: ConfigurationFile | null;
  readonly trust: FolderTrust;
  readonly model: string | undefined;
  readonly limits: NonNullable<Configuration["limits"]>;
  /** Why a part of what the folder brings is off; null if all of it counts. */
  readonly notice: string | null;
};

export type Place = { readonly root: string; readonly home: string; readonly environment?: Environment };

/** @throws PawlError `bad_configuration` */
export function configurationInForce({ root, home, environment = process.env }: Place): InForce {
  const user = readConfiguration(configurationOf(environment));
  const trust = folderTrust(root, home);
  const folder = isTrusted(trust, configurationName) ? trust.configuration : null;
  return {
    user,
    folder,
    trust,
    model: folder?.value.model ?? user?.value.model,
    limits: { ...user?.value.limits, ...folder?.value.limits },
    notice: noticeOf(trust),
  };
}

function noticeOf(trust: FolderTrust): string | null {
  const files = untrustedFiles(trust).map(({ path, before, effects }) => {
    const why = before === null ? "is not trusted" : "has changed since it was trusted";
    return `${path} ${why}, so it does not count that it ${effects.join("; ")}.`;
  });
  return files.length === 0 ? null : `${files.join(" ")} To look at it and decide: pawl trust`;
}

/** The rules of both files. What the folder allows counts only if it is trusted, and its other rules always. */
export function configuredRules({ root, home, environment = process.env }: Place): {
  readonly user: RuleLists;
  readonly folder: RuleLists;
} {
  const trust = folderTrust(root, home);
  const { allow, ...others } = trust.configuration?.value.permissions ?? {};
  return {
    user: readConfiguration(configurationOf(environment))?.value.permissions ?? {},
    folder: isTrusted(trust, configurationName) && allow !== undefined ? { ...others, allow } : others,
  };
}
