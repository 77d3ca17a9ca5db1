/**
 * `pawl/models`: models from AI SDK provider packages, by object or by name; the choice of a default model; recordings.
 */
export { type AiSdkOptions, asModel, fromAiSdk } from "./ai-sdk/adapter.js";
export type { ProviderTool } from "./ai-sdk/call-options.js";
export { toModelFailure } from "./ai-sdk/failure.js";
export {
  isAiSdkModel,
  type LanguageModel,
  type LanguageModelV3,
  type LanguageModelV4,
} from "./ai-sdk/language-model.js";
export { createDemoModel } from "./demo/demo-model.js";
export { type CacheLoss, cacheLoss, costOfCall, savedByCache } from "./facts/cost.js";
export { listPrices, type PriceList, priceLists } from "./facts/prices.js";
export { type RecordOptions, recordModel } from "./recorded/record.js";
export { readRecording } from "./recorded/recording.js";
export {
  createReplayModel,
  type ReplayModel,
  type ReplayModelOptions,
  type RequestDifference,
} from "./recorded/replay.js";
export { type ChooseOptions, chooseModel, defaultModels, type ModelChoice } from "./registry/choose.js";
export { type ImportedModule, type ImportPackage, importInstalledPackage } from "./registry/import-package.js";
export { findLocalModel, type LocalModel, type ModelList } from "./registry/local-servers.js";
export { type ProviderEnvironment, type ProviderVariables, variablesOf } from "./registry/providers.js";
export {
  createModelRegistry,
  type ModelProvider,
  type ModelRegistry,
  type RegistryOptions,
  resolveModel,
} from "./registry/registry.js";
export { type UsableModel, usableModels } from "./registry/usable-models.js";
