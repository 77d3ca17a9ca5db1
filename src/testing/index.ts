/**
 * `pawl/testing`: a model that says what a test wrote down, a clock that a test owns, the suite that every store passes, and a
 * simulated world in which the real loop is crashed and raced.
 */
export {
  createScriptedModel,
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
} from "./scripted-model.js";
export { SimulationFailure, type SimulationOptions, type SimulationReport, simulate } from "./simulation.js";
export { type ConformanceCase, type StoreUnderTest, storeConformance } from "./store-conformance.js";
export { createTestClock, settled, type TestClock } from "./test-clock.js";
