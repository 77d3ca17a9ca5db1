/**
 * The model of a session: chosen by name or from the environment, and how long to wait for it.
 */
import { nearestName } from "../../core/index.js";
import { type Model, type ModelTimeouts, PawlError } from "../../index.js";
import { chooseModel, costOfCall } from "../../models/index.js";
import { findAlias, toProviderEnvironment } from "../configuration/model-aliases.js";
import type { ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { importClient } from "./provider-clients.js";

export type ModelOptions = {
  /** How long to wait for the first chunk of a response; milliseconds. */
  readonly timeout?: number;
};

export type ChosenModel = {
  readonly model: Model;
  readonly why: string;
  readonly timeouts: ModelTimeouts;
};

/** How long the rest of a response may take once it has begun; milliseconds. */
const restMs = 600_000;

/**
 * @param name `provider/model`, `demo`, or an alias in the configuration
 * @throws PawlError `unknown_model`, `missing_package`, `bad_configuration`
 */
export async function chooseConfiguredModel(
  name: string | undefined,
  { timeout }: ModelOptions,
  { models, settings }: Pick<ResolvedConfiguration, "models"> & Partial<Pick<ResolvedConfiguration, "settings">>,
): Promise<ChosenModel> {
  const alias = name === undefined ? undefined : findAlias(name, models);
  const { model, why, isLocal } = await chooseModel({
    importPackage: importClient,
    ...(alias === undefined ? toNameOption(name) : { name: alias.use, env: toProviderEnvironment(alias, process.env) }),
  }).catch((error: unknown) => {
    throw suggestName(error, name, ["demo", ...Object.keys(models)]);
  });
  const { contextWindow } = alias ?? {};
  return {
    model: contextWindow === undefined ? model : { ...model, contextWindow },
    why:
      alias === undefined || name === alias.use
        ? (explainSetting(name, settings) ?? why)
        : `Using ${alias.use}, which is called ${name} here.`,
    timeouts: toTimeouts(timeout, isLocal),
  };
}

/** Adds the name that a misspelled name without a provider was probably meant to be. */
function suggestName(error: unknown, name: string | undefined, known: readonly string[]): unknown {
  if (name === undefined || name.includes("/") || !(error instanceof PawlError)) return error;
  const nearest = error.code === "unknown_model" ? nearestName(name, known) : undefined;
  if (nearest === undefined) return error;
  return new PawlError("unknown_model", `Unknown model ${JSON.stringify(name)}. Did you mean ${nearest}?`, {
    cause: error,
  });
}

/** Why the model is used if a file's setting names it. The library only knows that it got a name. */
function explainSetting(
  name: string | undefined,
  settings: ResolvedConfiguration["settings"] | undefined,
): string | undefined {
  const setting = settings?.find(({ key, value }) => key === "model" && value === name);
  if (name === undefined || setting === undefined || setting.from === "PAWL_MODEL") return undefined;
  return `Using ${name === "demo" ? "the demo model, not an LLM" : name}, because ${setting.from} names it.`;
}

/** The library reads PAWL_MODEL itself, and then names it in `why`. So the same name is not passed again. */
function toNameOption(name: string | undefined): { readonly name?: string } {
  return name === undefined || name === process.env.PAWL_MODEL?.trim() ? {} : { name };
}

/** A local model may have to be loaded first, and reads a long prompt slowly. So the wait is unlimited unless the person sets a limit. */
function toTimeouts(timeout: number | undefined, isLocal: boolean): ModelTimeouts {
  if (timeout !== undefined) return { firstChunkMs: timeout, totalMs: timeout + restMs };
  return isLocal ? { firstChunkMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY } : {};
}

/** Whether the cost of a call is known, so that a limit in dollars can apply. */
export function hasPrice({ id, price }: Model): boolean {
  return price !== undefined || costOfCall(id, { inputTokens: 0, outputTokens: 0 }) !== undefined;
}
