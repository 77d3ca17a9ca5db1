/**
 * Models: those of AI SDK provider packages, by object or by name, and the choice when none is named.
 */
export { type AiSdkOptions, asModel, fromAiSdk } from "./ai-sdk.js";
export type { ProviderTool } from "./ai-sdk-call-options.js";
export { toModelFailure } from "./ai-sdk-failure.js";
export { type Choice, type ChooseOptions, chooseModel, defaultModels } from "./choose.js";
export { createDemoModel } from "./demo.js";
export type { ImportedModule, ImportPackage } from "./import-package.js";
export { isAiSdkModel, type LanguageModel, type LanguageModelV4 } from "./language-model.js";
export { findLocalModel, type LocalModel, type ModelList } from "./local-servers.js";
export { listPrices, type PriceList, priceLists } from "./prices.js";
export type { Environment } from "./providers.js";
export { type RecordOptions, recordModel } from "./record.js";
export { readRecording } from "./recording.js";
export {
  createModelRegistry,
  type ModelProvider,
  type ModelRegistry,
  type RegistryOptions,
  resolveModel,
} from "./registry.js";
export { createReplayModel, type ReplayModel, type ReplayModelOptions, type RequestDifference } from "./replay.js";
