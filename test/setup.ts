/**
 * Before each test file: property tests draw from one seed, so that a run fails for everyone or for nobody. Another one:
 * `PAWL_SEED=7 npm test`.
 */
import fc from "fast-check";
import "./support/patient-waits.js";

fc.configureGlobal({ seed: Number(process.env.PAWL_SEED ?? 1) });

// Hints name the program as it was started (`npx pawl`), and tests must not depend on how they were started themselves.
delete process.env.npm_command;
