/**
 * `pawl/testing`: a scripted model, a test clock, the conformance suite for stores, and a crash kit for your own agents.
 */

export { checkSession } from "./crash/check-session.js";
export type { CrashSignal } from "./crash/pass-waits.js";
export {
  CrashFailure,
  type CrashPlay,
  type CrashReport,
  type CrashTestOptions,
  crashTest,
} from "./crash-test.js";
export { KillFailure, type KillPlay, type KillReport, type KillTestOptions, killTest } from "./kill-test.js";
export {
  createScriptedModel,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
} from "./scripted-model.js";
export { type ConformanceCase, type StoreUnderTest, storeConformance } from "./store-conformance.js";
export { createTestClock, settled, type TestClock } from "./test-clock.js";
export { InvariantBroken } from "./world/invariants.js";
