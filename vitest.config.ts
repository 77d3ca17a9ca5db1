/**
 * Two sets of tests. Every test file is in one of them, by its name:
 *
 *     *.test.ts          quick: `npm test`, the developer's loop; a few minutes on two processors
 *     *.long.test.ts     long: `npm run test:long`. Crash sweeps, real kills, tests that start many processes, outputs of megabytes.
 *     *.seeds.test.ts    in both: a few seeds in the quick set, all of them in the long set (test/support/sample-count.ts)
 *
 * Continuous integration plays a sixth of the longest sweeps for each commit (test/support/share.ts).
 *
 * `npx vitest run test/cli` runs what it names, from both sets. Citations of requirements count over both sets:
 * test/requirements-reporter.ts.
 */
import { resolve } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { LongFilesFirst } from "./test/long-files-first.js";
import { requirementsReporter } from "./test/requirements-reporter.js";
import { unhandledReporter } from "./test/unhandled-reporter.js";

const inContinuousIntegration = process.env.CI !== undefined;

/** Finds clients where `npm run next-majors` has installed the newest, in place of those in node_modules. */
const clients = process.env.PAWL_CLIENTS;
const newestClients: NonNullable<ViteUserConfig["plugins"]>[number] = {
  name: "newest-clients",
  enforce: "pre",
  resolveId(source) {
    if (clients === undefined || !/^@(?:agentclientprotocol\/sdk|modelcontextprotocol\/client)\b/.test(source))
      return null;
    return this.resolve(source, resolve(clients, "index.js"), { skipSelf: true });
  },
};

export default defineConfig({
  plugins: [newestClients],
  test: {
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    // Vitest leaves one processor free unless it is told otherwise.
    maxWorkers: "100%",
    // Tests start real processes and write with real syncs; the limits only end what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The same for `vi.waitFor`: test/support/patient-waits.ts.
    expect: { poll: { timeout: 30_000 } },
    sequence: { sequencer: LongFilesFirst },
    silent: "passed-only",
    reporters: [
      ["default", { summary: false }],
      requirementsReporter(),
      ...(inContinuousIntegration ? (["json", unhandledReporter("temp/unhandled.json")] as const) : []),
    ],
    outputFile: { json: "temp/tests.json" },
    coverage: {
      // `npm run coverage` installs it first.
      provider: "custom",
      customProviderModule: resolve("scripts/checks/node_modules/@vitest/coverage-v8/dist/index.js"),
      include: ["src/**/*.ts"],
      reporter: ["text-summary", "html"],
    },
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.long.test.ts", "test/fixtures/**"],
          // The modules are loaded once for each worker, not once for each file: that halves the processor time.
          isolate: false,
          env: { PAWL_TESTS: "quick" },
        },
      },
      {
        extends: true,
        test: {
          name: "long",
          include: ["test/**/*.{long,seeds}.test.ts"],
          exclude: ["test/drivers/**", "test/fixtures/**"],
          // As in the quick set. Loading the modules takes a fifth of a file's processor time.
          isolate: false,
          // One test may start dozens of processes, and each waits for a processor. What hangs ends by the limit of its own wait.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          env: { PAWL_TESTS: "long" },
        },
      },
      {
        extends: true,
        test: {
          name: "long-drivers",
          include: ["test/drivers/*.long.test.ts"],
          // These files replace a module and import test files, which define their tests when they are loaded. So each of them loads them.
          isolate: true,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          env: { PAWL_TESTS: "long" },
        },
      },
    ],
  },
});
